import { styleText } from 'node:util'
import { truncate, widthOf } from './text.ts'

export type Style = Parameters<typeof styleText>[0]

/** A piece of a line in one style. Its text is printable: see printable(). */
export interface Span {
  readonly text: string
  readonly style?: Style
}

/** A line before it is coloured: what its width is counted by. */
export type Line = readonly Span[]

export function span(text: string, style?: Style): Span {
  return style === undefined ? { text } : { text, style }
}

export function textOf(line: Line): string {
  return line.map(({ text }) => text).join('')
}

/** The line in at most `columns`. */
export function fit(line: Line, columns: number, ellipsis: string): Line {
  const kept: Span[] = []
  let room = columns
  for (const [i, piece] of line.entries()) {
    const width = widthOf(piece.text)
    // The last column is for the ellipsis if anything comes after this piece.
    const isLast = line.slice(i + 1).every(({ text }) => text === '')
    if (width < room || (width === room && isLast)) {
      kept.push(piece)
      room -= width
      continue
    }
    // One more than fits makes truncate() put the ellipsis where the rest of the line is missing.
    kept.push({ ...piece, text: truncate(isLast ? piece.text : `${piece.text}  `, room, ellipsis) })
    break
  }
  return kept
}

/** `left` and `right` at the two ends; `right` is left out where both do not fit. */
export function spread(left: Line, right: Line, columns: number): Line {
  const gap = columns - widthOf(textOf(left)) - widthOf(textOf(right))
  return gap < 2 ? left : [...left, span(' '.repeat(gap)), ...right]
}

/** The line as it is written to a terminal. */
export function paint(line: Line, color: boolean): string {
  if (!color) return textOf(line)
  return line
    .map(({ text, style }) =>
      style === undefined ? text : styleText(style, text, { validateStream: false }),
    )
    .join('')
}
