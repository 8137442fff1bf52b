import { smallInt, Tag } from './tags.ts'

/**
 * The byte of a value that takes one, or undefined: null, true, false and the whole numbers 0 to 127.
 * Very many jobs return nothing else, and an encoder costs more than the rest of recording them.
 */
export function oneByte(value: unknown): number | undefined {
  switch (value) {
    case null:
      return Tag.null
    case false:
      return Tag.false
    case true:
      return Tag.true
  }
  if (typeof value !== 'number' || (value & 127) !== value || Object.is(value, -0)) return undefined
  return smallInt + value
}
