/** Whether the caller of a function expects to continue before the function has finished. */
import type { FunctionUnit } from '../ir/program.ts'

const callbackNames = /^_?(?:cb|callback|done|next)$/
const continuations = /^(?:then|catch|finally)$/

/** It is `async`, takes a Node callback, or returns a promise that its text makes or gets. */
export function isAsyncLike(unit: FunctionUnit): boolean {
  if (unit.isAsync) return true
  if (unit.params.some((name) => callbackNames.test(name))) return true
  const { text } = unit.file.parsed
  const returnsPromise = unit.calls.some(({ start, isReturned, name, targets }) =>
    continuations.test(name)
      ? /\breturn\s*$/.test(text.slice(Math.max(0, start - 12), start))
      : isReturned && targets.some((target) => target.isAsync),
  )
  if (returnsPromise) return true
  return /\breturn (?:new Promise\b|Promise\.)/.test(text.slice(unit.start, unit.end))
}
