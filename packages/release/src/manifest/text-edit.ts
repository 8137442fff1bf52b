/** Changing values inside a text and nothing around them. */

export type ValuePath = readonly (string | number)[]

/** A text value that gets another content. It must be there already, and be a string. */
export interface ValueChange {
  readonly path: ValuePath
  readonly value: string
}

/** What stands between two offsets becomes `text`. */
export interface Replacement {
  readonly start: number
  readonly end: number
  readonly text: string
}

export function replaceIn(text: string, replacements: readonly Replacement[]): string {
  let result = ''
  let position = 0
  for (const { start, end, text: piece } of replacements.toSorted((a, b) => a.start - b.start)) {
    result += text.slice(position, start) + piece
    position = end
  }
  return result + text.slice(position)
}

/** The value at a path, or undefined. */
export function valueAt(document: unknown, path: ValuePath): unknown {
  let value = document
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    // A key such as `constructor` must not be found in the prototype.
    value = Object.hasOwn(value, key) ? (value as Record<string | number, unknown>)[key] : undefined
  }
  return value
}

/** The document with the value at a path replaced; the rest is shared with the original. */
export function withValueAt(document: unknown, path: ValuePath, value: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (Array.isArray(document)) {
    return document.with(key as number, withValueAt(document[key as number], rest, value))
  }
  const fields = document as Record<string, unknown>
  const changed = Object.entries(fields).map(([name, old]): [string, unknown] => [
    name,
    name === key ? withValueAt(old, rest, value) : old,
  ])
  return Object.fromEntries(changed)
}

export const samePath = (a: ValuePath, b: ValuePath): boolean =>
  a.length === b.length && a.every((key, index) => key === b[index])
