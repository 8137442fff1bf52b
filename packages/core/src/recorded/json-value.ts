/**
 * Results of jobs as JSON. What JSON has no word for becomes an object with one key that begins with `$`:
 * `{ "$bigint": "12" }`, `{ "$date": "2026-…" }`, `{ "$map": [[key, value]] }`, `{ "$set": […] }`,
 * `{ "$bytes": "base64", "of": "Uint8Array" }`, `{ "$number": "NaN" }`, `{ "$undefined": true }`.
 */
export function toJsonText(value: unknown, indent?: number): string {
  return JSON.stringify(toJson(value), undefined, indent)
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

function toJson(value: unknown): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { $number: nameOf(value) }
    case 'bigint':
      return { $bigint: String(value) }
    case 'undefined':
      return { $undefined: true }
    case 'object':
      return value === null ? null : toJsonObject(value)
    case 'function':
    case 'symbol':
      // Not plain data: no journal has them.
      return String(value)
  }
}

function nameOf(number: number): string {
  return Object.is(number, -0) ? '-0' : String(number)
}

function toJsonObject(value: object): Json {
  if (Array.isArray(value)) return Array.from(value, toJson)
  if (value instanceof Map) {
    return { $map: Array.from(value, ([key, each]) => [toJson(key), toJson(each)]) }
  }
  if (value instanceof Set) return { $set: Array.from(value, toJson) }
  // oxlint-disable-next-line no-restricted-globals -- a date as a value
  if (value instanceof Date) return { $date: dateText(value) }
  if (value instanceof ArrayBuffer) return bytes(new Uint8Array(value), 'ArrayBuffer')
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value
    return bytes(new Uint8Array(buffer, byteOffset, byteLength), value.constructor.name)
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toJson(each)]))
}

function dateText(date: { getTime(): number; toISOString(): string }): string | null {
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

function bytes(content: Uint8Array, of: string): Json {
  return { $bytes: Buffer.from(content).toString('base64'), of }
}
