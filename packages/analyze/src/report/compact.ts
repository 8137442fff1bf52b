/**
 * The report in as few lines as possible: the counts first, then one line for each cause.
 *
 * Findings of one rule about the same state have one cause, as a rule: one repair is for all of them. The
 * first is shown, and the others by their places.
 */
import { levels, type Finding } from '../finding.ts'
import { countLevels, isIncomplete, shownFindings, type Report } from './report.ts'
import { count } from './class-words.ts'

export function compactReport(report: Report): string[] {
  const shown = shownFindings(report)
  const lines = [summary(report, shown)]
  for (const cause of causesOf(shown)) lines.push(lineOf(cause))
  for (const { kind, file, line, message } of report.diagnostics)
    lines.push(`${kind} ${placeOf(file ?? '', line)} ${message}`.replaceAll(/\s+/g, ' '))
  return lines
}

function summary(report: Report, shown: readonly Finding[]): string {
  const counts = countLevels(shown)
  const found = levels
    .toReversed()
    .filter((level) => counts[level] > 0)
    .map((level) => count(counts[level], level))
    .join(', ')
  const below =
    report.belowLevel > 0
      ? `; ${report.belowLevel} below the level are not shown (--level note shows them)`
      : ''
  const left = isIncomplete(report) ? '; incomplete, see the last lines' : ''
  return `${found === '' ? 'no findings' : found} in ${count(report.stats.files, 'file')}${below}${left}`
}

type Cause = readonly [first: Finding, ...others: Finding[]]

function causesOf(findings: readonly Finding[]): Iterable<Cause> {
  return Map.groupBy(
    findings,
    ({ rule, key, file }) => `${rule} ${key} ${key === rule ? file : ''}`,
  ).values() as Iterable<Cause>
}

function lineOf([first, ...others]: Cause): string {
  const { level, rule, file, line, message, fixes } = first
  const also =
    others.length === 0
      ? ''
      : ` Also at ${others.map((one) => placeOf(one.file, one.line)).join(', ')}.`
  const fix = fixes[0] === undefined ? '' : ` Fix: ${fixes[0].title}.`
  return `${level} ${rule} ${placeOf(file, line)} ${message}.${also}${fix}`.replaceAll(/\s+/g, ' ')
}

function placeOf(file: string, line: number | undefined): string {
  return line === undefined ? file : `${file}:${line}`
}
