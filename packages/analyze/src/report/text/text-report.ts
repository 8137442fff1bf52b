/** The report for people: every finding, then the skipped files, then one line with the counts. */
import type { Diagnostic } from '../../analysis.ts'
import { levels, type Finding } from '../../finding.ts'
import { countLevels, isIncomplete, shownFindings, type Report } from '../report.ts'
import { count } from '../class-words.ts'
import { findingLines, levelStyles } from './finding.ts'
import { labelled, span, type Line, type Span, type TextOptions } from './line.ts'

export function textReport(report: Report, options: TextOptions): Line[] {
  const lines: Line[] = []
  const shown = shownFindings(report)
  for (const finding of shown) lines.push(...findingLines(finding, report.source, options), [])
  for (const diagnostic of report.diagnostics) lines.push(...diagnosticLines(diagnostic, options))
  for (const { rule, file, function: name, fingerprint } of report.fixed) {
    const text = `${rule} in ${file} (${name}), ${fingerprint}`
    lines.push(...labelled(span('fixed: ', 'green'), text, options))
  }
  if (report.fixed.length > 0)
    lines.push([span('       Take them out of the baseline with --write-baseline.', 'dim')])
  if (report.diagnostics.length + report.fixed.length > 0) lines.push([])
  return [...lines, ...summaryLines(report), ...explainLines(shown)]
}

function diagnosticLines(diagnostic: Diagnostic, options: TextOptions): Line[] {
  const { kind, file, line, message, isIncomplete: incomplete } = diagnostic
  const place = file === undefined ? '' : `${file}${line === undefined ? '' : `:${line}`}: `
  const label = incomplete ? span(`incomplete[${kind}]: `, 'red') : span(`note[${kind}]: `, 'cyan')
  return labelled(label, place + message, options)
}

/** The number of findings, and the speed of the analysis. */
export function summaryLines(report: Report): Line[] {
  const { findings, suppressed, fixed, belowLevel, hasBaseline } = report
  const counts = countLevels(shownFindings(report))
  const known = findings.filter(({ state }) => state === 'known').length
  const parts: Span[][] = levels
    .toReversed()
    .filter((level) => counts[level] > 0)
    .map((level) => [span(count(counts[level], level), levelStyles[level])])
  if (parts.length === 0) parts.push([span(known > 0 ? 'nothing new' : 'no findings', 'green')])
  const aside = [
    hasBaseline && `${known} in the baseline`,
    fixed.length > 0 && `${fixed.length} fixed`,
    suppressed.length > 0 && `${suppressed.length} suppressed`,
    belowLevel > 0 && `${belowLevel} below the level`,
  ].filter((text) => text !== false)
  const found = parts.flatMap((part, i) => (i === 0 ? part : [span(', '), ...part]))
  const line: Line = [...found, ...(aside.length === 0 ? [] : [span(` (${aside.join(', ')})`)])]
  const read: Line = [span(` in ${sizeText(report)}`, 'dim')]
  const lines: Line[] = [[...line, ...read]]
  if (isIncomplete(report))
    lines.push([span('incomplete: something was left out, see above; more may be there', 'red')])
  return lines
}

/** Rules that are named in the hint. */
const mostRules = 3

function explainLines(findings: readonly Finding[]): Line[] {
  const rules = [...new Set(findings.map(({ rule }) => rule))].slice(0, mostRules)
  if (rules.length === 0) return []
  const commands = rules.map((rule) => `heddle analyze --explain ${rule}`).join(', ')
  return [[span(`More about ${rules.length === 1 ? 'it' : 'them'}: ${commands}`, 'dim')]]
}

/** With less code than this, the measured speed is only the start-up time. */
const fewestLines = 1_000

function sizeText({ stats }: Report): string {
  const { files, lines, ms, types } = stats
  const seconds = ms.total / 1000
  const isTelling = lines >= fewestLines && seconds > 0
  const speed = isTelling ? `, ${count(Math.round(lines / seconds), 'line')}/s` : ''
  const time = seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)
  const compiler = types === 'none' ? ', without types' : ''
  return `${count(files, 'file')}, ${count(lines, 'line')}, ${time} s${speed}${compiler}`
}
