import { styleText } from 'node:util'
import { truncate, truncateWords, widthOf } from './terminal-text.ts'

export type Style = Parameters<typeof styleText>[0]

/** A piece of a line in one style. Its text is printable: see printable(). */
export interface Span {
  readonly text: string
  readonly style?: Style
  /** It is left out, without an ellipsis, where it does not fit as a whole. */
  readonly optional?: boolean
  /** Whether the line is there to be copied into a shell. */
  readonly command?: boolean
}

/** A line before it is coloured: what its width is counted by. */
export type Line = readonly Span[]

export function span(text: string, style?: Style): Span {
  return style === undefined ? { text } : { text, style }
}

/** Words for a shell: see wrap(). */
export function command(text: string, style: Style): Span {
  return { text, style, command: true }
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
    const isLast = line.slice(i + 1).every(({ text, optional }) => text === '' || optional === true)
    if (width < room || (width === room && isLast)) {
      kept.push(piece)
      room -= width
      continue
    }
    if (piece.optional === true) continue
    // One more than fits makes truncate() put the ellipsis where the rest of the line is missing. After other text
    // there are whole words only: what begins the line is a name, and a part of it says more than nothing.
    const cut = line.slice(0, i).every(({ text }) => text.trim() === '') ? truncate : truncateWords
    kept.push({ ...piece, text: cut(isLast ? piece.text : `${piece.text}  `, room, ellipsis) })
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
