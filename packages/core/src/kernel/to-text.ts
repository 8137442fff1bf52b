import { inspect } from 'node:util'
import { shorten } from './shorten.ts'

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

/** UTF-16 units of the text of `ctx.progress()`. The protocol of the fleet has the same limit. */
const longestProgress = 1_000

/** The text of a progress report: it is kept for each node that runs and drawn again and again, so it is bounded. */
export function progressText(text: string): string {
  return shorten(text, longestProgress)
}
