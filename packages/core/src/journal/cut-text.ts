/** Bounds on the data of a row besides its value, so that one row cannot hold up the loop (J7). */
import { describe, errorBounds } from '../errors.ts'
import type { ErrorRecord } from './journal.ts'

/** Characters of a message, of a stack and of one line of a log. */
export const longestText = 64 * 1024

/** Errors come from any code: their fields need not be what their types say. */
function cutEnd(field: unknown): string {
  const text = typeof field === 'string' ? field : describe(field)
  if (text.length <= longestText) return text
  return `${text.slice(0, longestText)}… (${text.length - longestText} more characters)`
}

/** The record as it is stored: only the fields that it is meant to have, none of them very long. */
export function cutRecord(record: ErrorRecord, depth = 0): ErrorRecord {
  const { name, message, code, stack, cause, errors } = record
  const isDeepest = depth >= errorBounds.causes
  return {
    name: cutEnd(name),
    message: cutEnd(message),
    ...(code !== undefined && { code: cutEnd(code) }),
    ...(stack !== undefined && { stack: cutEnd(stack) }),
    ...(cause !== undefined && !isDeepest && { cause: cutRecord(cause, depth + 1) }),
    ...(errors !== undefined &&
      !isDeepest && {
        errors: errors
          .slice(0, errorBounds.errors)
          .map((each) => cutRecord(each, errorBounds.causes)),
      }),
  }
}

/** A very long line of a log becomes several. Nothing is lost, and no surrogate pair is cut. */
export function* cutText(text: string): Generator<string, void, undefined> {
  for (let start = 0; ;) {
    let end = start + longestText
    if (end >= text.length) return yield start === 0 ? text : text.slice(start)
    const last = text.charCodeAt(end - 1)
    if (last >= 0xd800 && last <= 0xdbff) end--
    yield text.slice(start, end)
    start = end
  }
}
