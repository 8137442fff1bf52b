/**
 * A result as it is sent: bytes with a content type, made once, however many callers read it.
 *
 * JSON of a large value is written in slices: 30 MB at once would hold the loop for a quarter of a second. Parts that are
 * small are written by the engine in one go, which is several times faster than walking them.
 */
import { isBytes } from '@heddle/core'
import { slicesOf, type Clock } from '@heddle/core/lowlevel'
import { secretText } from '../http/secret-text.ts'

export interface Encoded {
  readonly heddle: 'encoded'
  /** `application/json` for values; the one that the job gave for bytes. */
  readonly type: string
  readonly bytes: Uint8Array
  /** Another one for every computation, so that a result that was computed again is not taken for the old one. */
  readonly etag: string
}

export const jsonType = 'application/json'

/** Values and characters that are written in one go: well below a millisecond. */
const smallValues = 1_000
const smallText = 64 * 1_024

/** *Cancellation*: none: it is bounded by the value. */
export async function encodeResult(value: unknown, clock: Clock): Promise<Encoded> {
  return encodeSmall(value) ?? encoded(await writeInSlices(value, clock), jsonType)
}

/** In one step; undefined when that would take too long. */
export function encodeSmall(value: unknown): Encoded | undefined {
  if (isBytes(value)) return encoded(value.data, value.type)
  return isSmall(value) ? encoded(Buffer.from(textOf(value)), jsonType) : undefined
}

export function isEncoded(value: unknown): value is Encoded {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as { heddle?: unknown }).heddle === 'encoded' &&
    (value as { bytes?: unknown }).bytes instanceof Uint8Array
  )
}

function encoded(bytes: Uint8Array, type: string): Encoded {
  return { heddle: 'encoded', type, bytes, etag: `"${secretText(12)}"` }
}

/** JSON has no undefined: a job that returns nothing has the result null. */
function textOf(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

function isSmall(value: unknown): boolean {
  let values = 0
  let text = 0
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (++values > smallValues) return false
    if (typeof next === 'string') text += next.length
    else if (Array.isArray(next)) {
      if (next.length > smallValues) return false
      open.push(...(next as unknown[]))
    } else if (typeof next === 'object' && next !== null) {
      for (const key of Object.keys(next)) {
        text += key.length
        if (open.push((next as Record<string, unknown>)[key]) > smallValues) return false
      }
    }
    if (text > smallText) return false
  }
  return true
}

async function writeInSlices(value: unknown, clock: Clock): Promise<Uint8Array> {
  const slices = slicesOf(clock, 1)
  const pieces: Buffer[] = []
  let total = 0
  let text = ''
  const flush = async (): Promise<void> => {
    const piece = Buffer.from(text)
    text = ''
    total += piece.length
    pieces.push(piece)
    if (slices.due) await slices.next()
  }
  const add = async (more: string): Promise<void> => {
    text += more
    if (text.length >= smallText) await flush()
  }
  const addText = async (long: string): Promise<void> => {
    await add('"')
    for (let at = 0; at < long.length;) {
      let end = Math.min(at + smallText, long.length)
      // A pair of surrogates is one character.
      if (end < long.length && (long.charCodeAt(end - 1) & 0xfc00) === 0xd800) end--
      await add(JSON.stringify(long.slice(at, end)).slice(1, -1))
      at = end
    }
    await add('"')
  }
  const addList = async (list: readonly unknown[]): Promise<void> => {
    for (let at = 0; at < list.length; at++) {
      await add(at === 0 ? '[' : ',')
      await addValue(list[at])
    }
    await add(list.length === 0 ? '[]' : ']')
  }
  const addObject = async (source: Readonly<Record<string, unknown>>): Promise<void> => {
    let isFirst = true
    for (const key of Object.keys(source)) {
      const one = source[key]
      if (one === undefined) continue
      await add(`${isFirst ? '{' : ','}${JSON.stringify(key)}:`)
      isFirst = false
      await addValue(one)
    }
    await add(isFirst ? '{}' : '}')
  }
  const addValue = (one: unknown): Promise<void> => {
    if (isSmall(one)) return add(textOf(one))
    if (typeof one === 'string') return addText(one)
    return Array.isArray(one) ? addList(one) : addObject(one as Record<string, unknown>)
  }
  await addValue(value)
  await flush()
  const whole = Buffer.allocUnsafeSlow(total)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
    if (slices.due) await slices.next()
  }
  return whole
}
