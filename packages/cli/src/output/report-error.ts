/** An error that ended a command, for people. */
import { HeddleError, isError } from '@heddle/core'
import { formatError } from '../text/format.ts'
import { span, type Line } from '../text/line.ts'
import { printable, printableLines } from '../text/terminal-text.ts'
import { locate } from './error-location.ts'
import { hasUserFrame, remedyFor } from './system-error.ts'

const indent = ' '.repeat('heddle: '.length)

/**
 * The problem, the place, and the repair. Errors of other code, except the file system's, come with their stack.
 * `context` names the operation that failed, where that is not clear; `help` replaces the advice of the error.
 */
export function errorLines(error: unknown, context = '', help?: string): Line[] {
  const [first = '', ...rest] = printableLines(context + formatError(error))
  const lines: Line[] = [[span('heddle: ', ['red', 'bold']), span(first)]]
  for (const text of rest) lines.push([span(indent + text)])
  const remedy = remedyFor(error)
  if (remedy !== undefined) return [...lines, [span(indent + remedy, 'cyan')]]
  if (!(error instanceof HeddleError)) return [...lines, ...stackLines(error)]
  const excerpt = locate(error.cause)?.excerpt ?? []
  for (const text of excerpt) lines.push([span(`${indent}  ${printable(text)}`, 'dim')])
  const inner = error.cause
  if (inner instanceof HeddleError) lines.push([span(indent + printable(inner.help), 'cyan')])
  const advice = printable(help ?? optionHelp(error) ?? error.help)
  lines.push([span(indent + advice, 'cyan'), span(` [${error.code}]`, 'dim')])
  return lines
}

/** The help of a wrong option speaks of code: that of a command may have come from elsewhere. */
function optionHelp(error: HeddleError): string | undefined {
  if (!isError(error, 'HDL_BAD_OPTION') || hasUserFrame(error)) return undefined
  return 'Correct it where it is set: on the command line, in the code, or in the settings file of the workspace.'
}

function stackLines(error: unknown): Line[] {
  if (!(error instanceof Error) || error.stack === undefined) return []
  return error.stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => [span(indent + printable(line.trim()), 'dim')])
}
