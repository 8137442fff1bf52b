/**
 * Code frames: the lines of a file that a finding is about, each with its marks below.
 *
 * Lines between two marks are shown when there are few, and are otherwise replaced by dots. A line that
 * is longer than the terminal is cut around its marks: a minified file has one line of megabytes.
 */
import type { SourceSpan } from '../../finding.ts'
import type { LineIndex } from '../line-index.ts'
import { span, type Line, type Style, type TextOptions } from './line.ts'

export interface Mark {
  readonly span: SourceSpan
  readonly label: string
  readonly style: Style
  /** Drawn below the code, one for each column. */
  readonly sign: '^' | '~'
}

/** This many unmarked lines between two marked ones are shown. */
const widestGap = 3

/** Where there is no terminal, code is cut here. */
const longestLine = 200

/** Shown in front of a mark on a line that is cut. */
const lead = 24

/** Width of the column of line numbers: the same for all frames of a finding. */
export function gutterOf(spans: readonly SourceSpan[]): number {
  return Math.max(2, ...spans.map(({ line }) => String(line).length))
}

export function frame(
  lines: LineIndex,
  marks: readonly Mark[],
  gutter: number,
  options: TextOptions,
): Line[] {
  const bar = span(`${' '.repeat(gutter)} | `, 'blue')
  const byLine = Map.groupBy(marks, (mark) => mark.span.line)
  const numbers = [...byLine.keys()].toSorted((a, b) => a - b)
  const drawn: Line[] = [[span(`${' '.repeat(gutter)} |`, 'blue')]]
  let last: number | undefined
  for (const number of numbers) {
    if (last !== undefined) drawn.push(...between(lines, last, number, gutter, options))
    const own = byLine.get(number)!.toSorted((a, b) => a.span.column - b.span.column)
    const cut = cutLine(lines.line(number), own[0]!.span.column - 1, gutter, options)
    drawn.push(codeLine(number, cut.text, gutter))
    for (const mark of own) drawn.push(...signs(mark, cut, options).map((line) => [bar, ...line]))
    last = number
  }
  return drawn
}

function between(
  lines: LineIndex,
  from: number,
  to: number,
  gutter: number,
  options: TextOptions,
): Line[] {
  if (to - from - 1 > widestGap) return [[span('...', 'blue')]]
  const numbers = Array.from({ length: to - from - 1 }, (_, i) => from + 1 + i)
  return numbers.map((number) =>
    codeLine(number, cutLine(lines.line(number), 0, gutter, options).text, gutter),
  )
}

function codeLine(number: number, text: string, gutter: number): Line {
  const label = `${String(number).padStart(gutter)} |`
  return text === '' ? [span(label, 'blue')] : [span(`${label} `, 'blue'), span(text)]
}

interface CutLine {
  readonly text: string
  /** The shown part is the raw text from `start` on, after `hidden`. */
  readonly raw: string
  readonly start: number
  readonly hidden: string
  readonly room: number
}

/** The part of a line that fits, with the column `at` in it. */
function cutLine(raw: string, at: number, gutter: number, options: TextOptions): CutLine {
  const { measure, isTerminal, columns, unicode } = options
  const room = Math.max(20, (isTerminal ? columns : longestLine) - gutter - 3)
  const ellipsis = unicode ? '…' : '~'
  const isFarRight = raw.length > room && at > room - lead
  const start = isFarRight ? Math.max(0, at - lead) : 0
  const hidden = start === 0 ? '' : ellipsis
  const shown = measure.printable(raw.slice(start, start + room * 2)).trimEnd()
  return { text: measure.truncate(hidden + shown, room), raw, start, hidden, room }
}

function signs(mark: Mark, cut: CutLine, { measure, columns, isTerminal }: TextOptions): Line[] {
  const { span: at, style, sign } = mark
  const isOneLine = at.endLine === at.line
  const widthTo = (column: number): number => {
    const piece = cut.raw.slice(cut.start, Math.min(column, cut.start + cut.room * 2))
    return measure.widthOf(cut.hidden) + measure.widthOf(measure.printable(piece))
  }
  const left = Math.min(widthTo(at.column - 1), cut.room - 1)
  const end = isOneLine ? at.endColumn - 1 : cut.raw.trimEnd().length
  const right = Math.min(Math.max(widthTo(end), left + 1), cut.room)
  const label = isOneLine ? mark.label : `${mark.label} (to line ${at.endLine})`
  const drawn = sign.repeat(right - left)
  if (!isTerminal || right + 1 + measure.widthOf(label) <= columns)
    return [[span(' '.repeat(left)), span(`${drawn} ${label}`.trimEnd(), style)]]
  const indent = Math.max(0, Math.min(left, cut.room - measure.widthOf(label)))
  return [
    [span(' '.repeat(left)), span(drawn, style)],
    [span(' '.repeat(indent)), span(label, style)],
  ]
}
