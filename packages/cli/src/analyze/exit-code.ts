import { isAtLeast, isIncomplete, type FailOn, type Level, type Report } from '@heddle/analyze'
import { exitCodes, type ExitCode } from '../exit-codes.ts'

/**
 * The exit code of a report.
 *
 * What is incomplete comes first: a 1 would say that everything was read, and that this is all there is.
 */
export function exitCodeOf(report: Report, failOn: FailOn, level: Level): ExitCode {
  if (isIncomplete(report)) return exitCodes.incomplete
  if (failOn === 'never') return exitCodes.ok
  const failing = report.findings.some(
    ({ finding, state }) => isAtLeast(finding, level) && (failOn === 'any' || state === 'new'),
  )
  return failing ? exitCodes.failed : exitCodes.ok
}
