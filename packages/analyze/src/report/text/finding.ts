/** One finding as people read it in a terminal: laid out as the Rust compiler does. */
import type { Finding, Fix, Level, SharedState, SourceSpan, TraceStep } from '../../finding.ts'
import type { SourceLines } from '../source-lines.ts'
import { accessNames, firstFew, stepsOf } from '../class-words.ts'
import { frame, gutterOf, type Mark } from './frame.ts'
import { labelled, span, type Line, type Span, type Style, type TextOptions } from './line.ts'
import { table } from './column-table.ts'

export const levelStyles: Readonly<Record<Level, Style>> = {
  error: 'red',
  warning: 'yellow',
  note: 'cyan',
}

/** Writers and readers that are named in the table. */
const mostNames = 4

export function findingLines(finding: Finding, source: SourceLines, options: TextOptions): Line[] {
  const marks = marksOf(finding)
  const gutter = gutterOf([...marks.map((mark) => mark.span), ...conflictSpans(finding)])
  const indent = ' '.repeat(gutter + 1)
  const lines: Line[] = [
    ...headline(finding, options),
    ...frames(finding, marks, gutter, source, options),
    [span(`${indent}|`, 'blue')],
    ...notes(finding, indent, options),
  ]
  const hasSteps = finding.trace.length > 0
  for (const fix of finding.fixes) lines.push(...helpLines(fix, hasSteps, indent, options))
  return lines
}

function headline(finding: Finding, options: TextOptions): Line[] {
  const { level, rule, message } = finding
  const label = `${level}[${rule}]`
  const [first, ...rest] = labelled(span(`${label}: `), message, options)
  const style: Style[] = [levelStyles[level], 'bold']
  const text = first!.slice(1).map((piece) => span(piece.text, 'bold'))
  return [
    [span(label, style), span(': ', 'bold'), ...text],
    ...rest.map((line) => line.map((piece) => span(piece.text, 'bold'))),
  ]
}

/** Check, suspension and act of task A. */
function marksOf(finding: Finding): Mark[] {
  const { checkSpan, actSpan, suspension, level } = finding
  const style = levelStyles[level]
  if (finding.class === 'blocking' || finding.class === 'suppression')
    return [{ span: actSpan, label: '', style, sign: '^' }]
  const marks: Mark[] = [{ span: checkSpan, label: 'check', style, sign: '^' }]
  if (suspension !== undefined)
    marks.push({
      span: suspension,
      label: 'suspension: other tasks run here',
      style: 'cyan',
      sign: '~',
    })
  if (isSameSpan(actSpan, checkSpan)) marks[0] = { ...marks[0]!, label: 'check and act' }
  else marks.push({ span: actSpan, label: 'act', style, sign: '^' })
  return marks
}

function isSameSpan(a: SourceSpan, b: SourceSpan): boolean {
  return a.file === b.file && a.line === b.line && a.column === b.column
}

function conflictSpans({ conflict }: Finding): SourceSpan[] {
  return conflict === undefined ? [] : [conflict]
}

function frames(
  finding: Finding,
  marks: readonly Mark[],
  gutter: number,
  source: SourceLines,
  options: TextOptions,
): Line[] {
  const drawn: Line[] = []
  const isRace = finding.class !== 'blocking' && finding.class !== 'suppression'
  const tag = isRace ? 'task A, ' : ''
  const draw = (arrow: string, at: SourceSpan, who: string, own: readonly Mark[]): void => {
    const place = `${at.file}:${at.line}:${at.column}`
    const label = span(`${' '.repeat(gutter)}${arrow} `, 'blue')
    drawn.push(...labelled(label, `${place} ${who}`.trimEnd(), options))
    const lines = source.of(at.file)
    if (lines !== undefined) drawn.push(...frame(lines, own, gutter, options))
  }
  for (const [i, [, own]] of [...Map.groupBy(marks, (mark) => mark.span.file)].entries()) {
    const arrow = i === 0 ? '-->' : ':::'
    const at = own.toSorted((a, b) => a.span.line - b.span.line)[0]!.span
    const name = finding.function === '' ? '' : `(${tag}in ${finding.function})`
    draw(arrow, at, name, own)
  }
  if (finding.conflict !== undefined) {
    const label = 'what the other task does meanwhile'
    const mark: Mark = { span: finding.conflict, label, style: 'magenta', sign: '^' }
    draw(':::', finding.conflict, `(task B${functionAt(finding, finding.conflict)})`, [mark])
  }
  return drawn
}

/** Which function makes an access, where the shared-state table knows it. */
function functionAt({ shared }: Finding, at: SourceSpan): string {
  const accesses = shared.flatMap(({ writers, readers }) => [...writers, ...readers])
  const found = accesses.find((access) => isSameSpan(access.span, at))
  return found === undefined ? '' : `, in ${found.function}`
}

function notes(finding: Finding, indent: string, options: TextOptions): Line[] {
  const dash = options.unicode ? '–' : '-'
  const lines: Line[] = []
  const note = (name: string, text: string): void => {
    const label = `${indent}= ${name}: `
    const [first, ...rest] = labelled(span(label), text, options)
    const title = span(text === '' ? `${name}:` : `${name}: `, 'bold')
    lines.push([span(`${indent}= `, 'blue'), title, ...first!.slice(1)], ...rest)
  }
  if (finding.shared.length > 0) {
    note('shared state', '')
    lines.push(...sharedLines(finding, indent, options))
  }
  if (finding.trace.length > 0) {
    note('trace', '')
    lines.push(...traceLines(finding, indent, options))
  }
  if (finding.window !== undefined) note('window', stepsOf(finding.window, dash))
  for (const text of finding.evidence) note('because', text)
  note('fingerprint', finding.fingerprint)
  return lines
}

function sharedLines(finding: Finding, indent: string, options: TextOptions): Line[] {
  const { measure, isTerminal, columns } = options
  const rows = sharedTable(finding, options).map((line) => trimmed([span(`${indent}  `), ...line]))
  const widest = Math.max(...rows.map((line) => widthOfLine(line, measure)))
  return isTerminal && widest > columns ? sharedList(finding, indent, options) : rows
}

function guardSpan({ guard }: SharedState, { level }: Finding, { measure }: TextOptions): Span {
  return guard === undefined
    ? span('UNGUARDED', levelStyles[level])
    : span(measure.printable(guard))
}

function sharedTable(finding: Finding, options: TextOptions): Line[] {
  const { measure } = options
  const cell = (texts: readonly string[], style?: Style): Span[] =>
    texts.map((text) => span(measure.printable(text), style))
  const names = (accesses: SharedState['writers']): Span[] =>
    cell(firstFew(accessNames(accesses, finding.file), mostNames))
  const header = ['State', 'Scope', 'Writers', 'Readers', 'Guard'].map((title) =>
    cell([title], 'dim'),
  )
  const rows = finding.shared.map((state) => [
    cell([state.name]),
    cell([state.scope]),
    names(state.writers),
    names(state.readers),
    [guardSpan(state, finding, options)],
  ])
  return table([header, ...rows], measure)
}

/** The same for terminals in which the table has no room: nothing is cut off. */
function sharedList(finding: Finding, indent: string, options: TextOptions): Line[] {
  const lines: Line[] = []
  for (const state of finding.shared) {
    lines.push(...labelled(span(`${indent}  `), `${state.name} (${state.scope})`, options))
    lines.push([span(`${indent}    `), guardSpan(state, finding, options)])
    const list = (label: string, accesses: SharedState['writers']): void => {
      const names = firstFew(accessNames(accesses, finding.file), mostNames).join(', ')
      if (names !== '') lines.push(...labelled(span(`${indent}    ${label} `), names, options))
    }
    list('written by', state.writers)
    list('read by', state.readers)
  }
  return lines
}

function widthOfLine(line: Line, { widthOf }: TextOptions['measure']): number {
  return line.reduce((sum, { text }) => sum + widthOf(text), 0)
}

/** The line without spaces at the end. */
function trimmed(line: Line): Line {
  const pieces = [...line]
  while (pieces.length > 0 && pieces.at(-1)!.text.trimEnd() === '') pieces.pop()
  const last = pieces.pop()
  return last === undefined ? [] : [...pieces, { ...last, text: last.text.trimEnd() }]
}

function traceLines(
  { trace, window, file }: Finding,
  indent: string,
  options: TextOptions,
): Line[] {
  const digits = String(trace.length).length
  return trace.flatMap((step, i) => {
    const number = i + 1
    const isInside = window !== undefined && number >= window[0] && number <= window[1]
    const tag = `[Task ${step.task}] `
    const label = `${indent}  ${isInside ? '| ' : '  '}${tag}${String(number).padStart(digits)}. `
    const [first, ...rest] = labelled(span(label), stepText(step, file, options), options)
    const bar = span(`${indent}  ${isInside ? '| ' : '  '}`, 'red')
    const task: Span = span(tag, step.task === 'A' ? 'cyan' : 'magenta')
    return [[bar, task, span(`${String(number).padStart(digits)}. `), ...first!.slice(1)], ...rest]
  })
}

function stepText(step: TraceStep, file: string, { unicode }: TextOptions): string {
  const place =
    step.span.file === file ? `L${step.span.line}` : `${step.span.file}:${step.span.line}`
  const mark = step.isCheckpoint === true ? ` ${unicode ? '←' : '<-'} CHECKPOINT` : ''
  return `${step.text} (${place})${mark}`
}

function helpLines(fix: Fix, hasSteps: boolean, indent: string, options: TextOptions): Line[] {
  const { measure, unicode } = options
  const bar = span(`${indent}| `, 'blue')
  const closes = hasSteps ? ` closes ${stepsOf(fix.closes, unicode ? '–' : '-')};` : ''
  const title = `${fix.title} [${fix.effort};${closes} ${fix.risk} risk]`
  const [first, ...rest] = labelled(span('help: '), title, options)
  const code = fix.sketch
    .split('\n')
    .map((text): Line => [bar, span(measure.printable(text), 'green')])
  const tradeoffs = labelled(span(`${indent}= but: `), fix.tradeoffs, options)
  return [[span('help', 'cyan'), span(': '), ...first!.slice(1)], ...rest, ...code, ...tradeoffs]
}
