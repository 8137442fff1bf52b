/**
 * The structured concurrency analysis as a document: shared state, checkpoints, race trace,
 * classification, fixes. One section for each finding.
 *
 * Code and names come from the analysed program: what would end a table cell, a code span or a fence is
 * escaped, so that a document contains only the program's text.
 */
import type { Checkpoint, Finding, Fix, SharedState, SourceSpan } from '../finding.ts'
import { countLevels, shownFindings, type Report } from './report.ts'
import type { SourceLines } from './source-lines.ts'
import type { Survey } from './survey.ts'
import { accessNames, classWords, count, firstFew, stepsOf } from './class-words.ts'

export function markdownReport(report: Report): string {
  const shown = shownFindings(report)
  const sections = shown.map((finding) => findingSection(finding, report.source))
  // Findings about a target say more than its inventory.
  const quiet = shown.length === 0 ? report.surveys : []
  const surveys = quiet.map((survey) => surveySection(survey, report.source, report.belowLevel))
  return `${[...sections, ...surveys, closing(report)].join('\n\n')}\n`
}

/** Code in a line of text. */
export function code(text: string): string {
  const flat = text.replace(/\s+/g, ' ')
  const longest = Math.max(0, ...Array.from(flat.matchAll(/`+/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  const room = flat.startsWith('`') || flat.endsWith('`') ? ' ' : ''
  return `${fence}${room}${flat}${room}${fence}`
}

/** A sentence with names of the program in it: `<module>.<callback>` is not a tag, `__init` not emphasis. */
export function prose(text: string): string {
  return text
    .split(/(`+[^`]*`+)/)
    .map((piece, i) => (i % 2 === 1 ? piece : piece.replace(/[<*_]/g, '\\$&')))
    .join('')
}

/** Text in a cell of a table. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replace(/\s+/g, ' ')
}

function fenced(lines: readonly string[], language = ''): string[] {
  const longest = Math.max(0, ...lines.map((line) => /^\s*(`{3,})/.exec(line)?.[1]?.length ?? 0))
  const fence = '`'.repeat(Math.max(3, longest + 1))
  return [fence + language, ...lines, fence]
}

/** The five parts of one finding. */
export function findingSection(finding: Finding, source: SourceLines): string {
  const { file, function: name, rule, level, message, fingerprint } = finding
  const target = name === '' ? file : `${file}#${name}`
  return [
    `## Concurrency analysis: ${code(target)}`,
    '',
    `**${rule}** (${level}) at ${code(`${file}:${finding.line}`)}: ${prose(message)}`,
    '',
    `Fingerprint ${code(fingerprint)}.`,
    '',
    '### Shared state',
    '',
    ...sharedTable(finding, 'None: this is not about shared state.'),
    '',
    '### Checkpoints',
    '',
    ...checkpointList(findingRows(finding), finding.file, source),
    '',
    '### Race trace',
    '',
    ...raceTrace(finding),
    '',
    '### Classification',
    '',
    ...classification(finding),
    '',
    '### Fixes',
    ...finding.fixes.flatMap((fix, i) => ['', ...fixSection(fix, i + 1, finding)]),
  ].join('\n')
}

/**
 * The same five parts for a target in which nothing was found.
 *
 * @param belowLevel Findings that were left out because of their level.
 */
export function surveySection(survey: Survey, source: SourceLines, belowLevel = 0): string {
  const isAll = belowLevel === 0
  return [
    `## Concurrency analysis: ${code(survey.target)}`,
    '',
    '### Shared state',
    '',
    ...sharedTable(survey, 'None.'),
    '',
    '### Checkpoints',
    '',
    ...checkpointList(rowsOf(survey.checkpoints), survey.file, source),
    '',
    '### Race trace',
    '',
    'None was found: no order of tasks is known in which another one gets between a check and its act.',
    '',
    '### Classification',
    '',
    isAll
      ? 'No race.'
      : `No race at this level. ${belowLevel} below it ${belowLevel === 1 ? 'is' : 'are'} not shown: \`--level note\` shows ${belowLevel === 1 ? 'it' : 'them'}.`,
    '',
    '### Fixes',
    '',
    isAll ? 'None needed.' : 'None needed for the shown findings.',
  ].join('\n')
}

function sharedTable(
  { shared, file }: Pick<Finding, 'shared' | 'file'>,
  whenEmpty: string,
): string[] {
  if (shared.length === 0) return [whenEmpty]
  const rows = shared.map((state) => sharedRow(state, file))
  return ['| State | Scope | Writers | Readers | Guard |', '|---|---|---|---|---|', ...rows]
}

/** Writers and readers that are named in a cell. */
const mostNames = 8

function sharedRow({ name, scope, writers, readers, guard }: SharedState, file: string): string {
  const list = (accesses: SharedState['writers']): string =>
    firstFew(accessNames(accesses, file), mostNames)
      .map((text) => cell(code(text)))
      .join(', ') || '-'
  const cells = [
    cell(code(name)),
    scope,
    list(writers),
    list(readers),
    guard === undefined ? 'UNGUARDED' : cell(guard),
  ]
  return `| ${cells.join(' | ')} |`
}

/** The words behind the arrow of each line. */
const checkpointWords = {
  await: 'CHECKPOINT',
  'for-await': 'CHECKPOINT (each round)',
  yield: 'SUSPEND (the caller runs)',
  continuation: 'CHECKPOINT (the rest runs later)',
  dispose: 'CHECKPOINT (at the end of the block)',
  call: 'CHECKPOINT (inside the call)',
} as const

interface CheckpointRow {
  readonly span: SourceSpan
  readonly says: string
}

function rowsOf(checkpoints: readonly Checkpoint[]): CheckpointRow[] {
  return checkpoints.map(({ span, kind, note }) => ({
    span,
    says: note === '' ? checkpointWords[kind] : `${checkpointWords[kind]}: ${note}`,
  }))
}

function findingRows({ checkSpan, actSpan, checkpoints, class: kind }: Finding): CheckpointRow[] {
  const rows = rowsOf(checkpoints)
  if (kind === 'blocking' || kind === 'suppression') return rows
  rows.push({ span: checkSpan, says: '(not a checkpoint: the check)' })
  rows.push({ span: actSpan, says: '(not a checkpoint: the act)' })
  return rows
}

function checkpointList(
  rows: readonly CheckpointRow[],
  main: string,
  source: SourceLines,
): string[] {
  if (rows.length === 0) return ['None.']
  const textOf = ({ file, line }: SourceSpan): string =>
    shorten(source.of(file)?.line(line).trim() ?? '')
  const sorted = rows.toSorted((a, b) => byPlace(main, a.span, b.span))
  const labels = sorted.map(({ span }) => {
    const place = span.file === main ? `L${span.line}` : `${span.file} L${span.line}`
    return `${place}: ${textOf(span)}`
  })
  const width = Math.max(...labels.map((label) => label.length))
  return fenced(sorted.map(({ says }, i) => `${labels[i]!.padEnd(width)}  ← ${says}`))
}

/** Lines of code in a list; minified code has no short ones. */
const longestCode = 80

function shorten(text: string): string {
  return text.length <= longestCode ? text : `${text.slice(0, longestCode - 1)}…`
}

/** The file of the finding first. */
function byPlace(main: string, a: SourceSpan, b: SourceSpan): number {
  if (a.file !== b.file)
    return a.file === main ? -1 : b.file === main ? 1 : a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}

function raceTrace({ trace, window, evidence, file }: Finding): string[] {
  if (trace.length === 0) return ['None: no other task is needed.']
  const digits = String(trace.length).length
  const steps = trace.map(({ task, text, span, isCheckpoint }, i) => {
    const place = span.file === file ? `L${span.line}` : `${span.file}:${span.line}`
    const end = isCheckpoint === true ? ' → CHECKPOINT' : ''
    return `[Task ${task}] ${String(i + 1).padStart(digits)}. ${text.replace(/\s+/g, ' ')} (${place})${end}`
  })
  const lines = fenced(steps)
  if (window !== undefined) lines.push('', `**Race window:** ${stepsOf(window)}.`)
  if (evidence.length > 0) lines.push('', ...evidence.map((text) => `- ${prose(text)}`))
  return lines
}

function classification({ class: kind, rule }: Finding): string[] {
  const { title, definition } = classWords[kind]
  return [`**${title}**: ${definition}. (${rule})`]
}

function fixSection(fix: Fix, n: number, finding: Finding): string[] {
  const { title, sketch, closes, tradeoffs, risk, effort } = fix
  const how =
    finding.trace.length === 0
      ? 'there is no window: no other task is needed.'
      : finding.class === 'blocking'
        ? `${stepsOf(closes)} no longer holds up the others.`
        : `${stepsOf(closes)} can no longer be interleaved.`
  return [
    `#### ${n}. ${prose(title)} [${effort}]`,
    '',
    '- **Sketch**:',
    '',
    ...fenced(sketch.split('\n'), 'ts').map((line) => (line === '' ? '' : `  ${line}`)),
    '',
    `- **How it closes the window**: ${how}`,
    `- **Tradeoffs**: ${prose(tradeoffs)}`,
    `- **Risk**: ${risk}`,
  ]
}

function closing(report: Report): string {
  const { findings, suppressed, fixed, diagnostics, stats } = report
  const shown = shownFindings(report)
  const counts = countLevels(shown)
  const read = `${count(stats.files, 'file')}, ${count(stats.lines, 'line')}`
  const lines = [
    '---',
    '',
    shown.length === 0
      ? `No findings in ${read}.`
      : `${count(counts.error, 'error')}, ${count(counts.warning, 'warning')}, ${count(counts.note, 'note')} in ${read}.`,
  ]
  const known = findings.filter(({ state }) => state === 'known').length
  if (known > 0) lines.push('', `In the baseline: ${known}.`)
  if (suppressed.length > 0) {
    lines.push('', 'Suppressed in the source:', '')
    for (const { finding, reason } of suppressed)
      lines.push(
        `- ${finding.rule} at ${code(`${finding.file}:${finding.line}`)}: ${prose(reason)}`,
      )
  }
  if (fixed.length > 0) {
    lines.push('', 'Of the baseline, and no longer found:', '')
    for (const { rule, file, function: name } of fixed)
      lines.push(`- ${rule} in ${code(`${file}#${name}`)}`)
  }
  const missing = diagnostics.filter((diagnostic) => diagnostic.isIncomplete)
  if (missing.length > 0) {
    lines.push('', 'Left out:', '')
    for (const { file, line, message } of missing) {
      const place =
        file === undefined ? '' : `${code(line === undefined ? file : `${file}:${line}`)}: `
      lines.push(`- ${place}${prose(message)}`)
    }
  }
  return lines.join('\n')
}
