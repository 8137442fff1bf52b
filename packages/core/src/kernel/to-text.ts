import { inspect } from 'node:util'

/** A value as text for people: a string as it is, anything else as the console shows it. It never throws. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return inspect(value)
  } catch {
    // A value may bring its own way to be inspected.
    return `[${typeof value}]`
  }
}
