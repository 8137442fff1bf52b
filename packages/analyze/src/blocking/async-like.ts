/** Whether the caller of a function expects to go on before it is finished. */
import type { FunctionUnit } from '../ir/program.ts'

const callbackNames = /^(?:cb|callback|done)$/

/** It is `async`, takes a Node callback, or returns a promise that its text makes. */
export function isAsyncLike(unit: FunctionUnit): boolean {
  if (unit.isAsync) return true
  if (unit.params.some((name) => callbackNames.test(name))) return true
  if (unit.calls.some((call) => call.isReturned && /^(?:then|catch|finally)$/.test(call.name))) {
    return true
  }
  const { text } = unit.file.parsed
  return /\breturn (?:new Promise\b|Promise\.)/.test(text.slice(unit.start, unit.end))
}
