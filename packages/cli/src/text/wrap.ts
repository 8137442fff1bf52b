/**
 * Lines that are wider than their terminal, wrapped at blanks: a terminal itself would break a word or an id where its
 * edge is. Only for what stays on the screen; the live region cuts instead (see fit()).
 */
import type { Line, Span } from './line.ts'
import { textOf } from './line.ts'
import { widthOf } from './terminal-text.ts'

/** Words of one line that stay together, with the blanks before them. */
interface Unit {
  readonly spans: Span[]
  width: number
  isBlank: boolean
  isCommand: boolean
}

/** A figure stays with its unit, and with the state of the jobs that it counts. */
const unitOfMeasure =
  /^(?:ms|s|min|h|%|[kMG]?B|failed|blocked|stopped|skipped|succeeded)(?![\p{L}\p{N}])/u

/**
 * The line in as many lines as it needs, the later ones indented as far as its label. A command ends with a backslash where
 * it continues, so that it can still be copied. Only a word that is wider than the terminal is wider than `columns`.
 */
export function wrap(line: Line, columns: number | undefined): Line[] {
  if (columns === undefined || columns < 2 || widthOf(textOf(line)) <= columns) return [line]
  const indent = indentOf(line, columns)
  const lines: Span[][] = [[]]
  let column = 0
  let blank: Unit | undefined
  for (const [i, unit] of unitsOf(line).entries()) {
    if (unit.isBlank) {
      // The blanks that a line begins with are kept; others only between two words of one line.
      if (i === 0) column = append(lines.at(-1)!, unit)
      else blank = unit
      continue
    }
    const before = blank?.width ?? 0
    const end = unit.isCommand ? continuation.length : 0
    const isFirst = column === 0 || (i === 1 && blank === undefined)
    if (isFirst || column + before + unit.width + end <= columns) {
      if (blank !== undefined) column += append(lines.at(-1)!, blank)
    } else {
      if (unit.isCommand && blank?.isCommand === true) lines.at(-1)!.push({ text: continuation })
      // A word that does not fit beside the indent is moved to the left instead of being broken.
      column = Math.max(0, Math.min(indent, columns - unit.width))
      lines.push(column === 0 ? [] : [{ text: ' '.repeat(column) }])
    }
    blank = undefined
    column += append(lines.at(-1)!, unit)
  }
  return lines
}

const continuation = ' \\'

export function wrapAll(lines: readonly Line[], columns: number | undefined): Line[] {
  return lines.flatMap((line) => wrap(line, columns))
}

function append(line: Span[], { spans, width }: Unit): number {
  line.push(...spans)
  return width
}

/** Where the text of a line begins: behind its label, unless that takes too much of the line. */
function indentOf([first]: Line, columns: number): number {
  const text = first?.text ?? ''
  const blanks = widthOf(/^ */.exec(text)![0])
  if (!text.endsWith(' ')) return blanks
  return widthOf(text) <= columns / 3 ? widthOf(text) : blanks + 2
}

function unitsOf(line: Line): Unit[] {
  const units: Unit[] = []
  for (const { text, style, command = false } of line) {
    for (const [piece] of text.matchAll(/ +|[^ ]+/g)) {
      const isBlank = piece.startsWith(' ')
      const found = { text: piece, ...(style !== undefined && { style }) }
      const last = units.at(-1)
      if (last !== undefined && last.isBlank === isBlank) {
        last.spans.push(found)
        last.width += widthOf(piece)
        last.isCommand ||= command
      } else {
        units.push({ spans: [found], width: widthOf(piece), isBlank, isCommand: command })
      }
    }
  }
  return withUnitsOfMeasure(units)
}

function withUnitsOfMeasure(units: readonly Unit[]): Unit[] {
  const joined: Unit[] = []
  for (const unit of units) {
    const [figure, blank] = joined.slice(-2)
    const text = unit.spans.map((each) => each.text).join('')
    const isMeasure =
      blank?.isBlank === true &&
      figure !== undefined &&
      unitOfMeasure.test(text) &&
      endsInDigit(figure)
    if (!isMeasure) {
      joined.push(unit)
      continue
    }
    joined.pop()
    figure.spans.push(...blank.spans, ...unit.spans)
    figure.width += blank.width + unit.width
  }
  return joined
}

function endsInDigit({ spans }: Unit): boolean {
  return /\d$/.test(spans.at(-1)!.text)
}
