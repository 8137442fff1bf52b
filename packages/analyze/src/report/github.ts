/**
 * Workflow commands of GitHub Actions: each becomes an annotation at its line of the pull request.
 *
 * Ten errors and ten warnings are shown for a step; the rest is only in the log.
 */
import type { Level } from '../finding.ts'
import { shownFindings, type Report } from './report.ts'
import { stepsOf } from './class-words.ts'

const commands: Readonly<Record<Level, string>> = {
  error: 'error',
  warning: 'warning',
  note: 'notice',
}

/** Escapes characters that would end the command or the line. */
export function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

/** In a property a colon and a comma are syntax as well. */
export function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

function command(
  name: string,
  properties: Readonly<Record<string, string | number | undefined>>,
  message: string,
): string {
  const given = Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${escapeProperty(String(value))}`)
  return `::${name}${given.length === 0 ? '' : ` ${given.join(',')}`}::${escapeData(message)}`
}

export function githubReport(report: Report): string[] {
  const lines: string[] = []
  for (const finding of shownFindings(report)) {
    const { file, function: name, rule, message, window, trace, fixes } = finding
    const from = Math.min(finding.check, finding.act)
    const to = Math.max(finding.check, finding.act)
    const isHere = finding.checkSpan.file === file && finding.actSpan.file === file
    const text = [
      message,
      ...trace.map((step, i) => `[Task ${step.task}] ${i + 1}. ${step.text} (L${step.span.line})`),
      ...(window === undefined ? [] : [`Window: ${stepsOf(window)}`]),
      ...fixes.map((fix) => `Help: ${fix.title} [${fix.effort}]`),
    ].join('\n')
    const title = name === '' ? rule : `${rule} in ${name}`
    const place = isHere ? { file, line: from, endLine: to } : { file, line: finding.line }
    lines.push(command(commands[finding.level], { ...place, title }, text))
  }
  for (const { kind, file, line, message, isIncomplete } of report.diagnostics) {
    const name = isIncomplete ? 'error' : 'notice'
    lines.push(command(name, { file, line, title: `incomplete: ${kind}` }, message))
  }
  return lines
}
