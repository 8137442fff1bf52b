import { fit, span, textOf, type Line, type Span } from '../text/line.ts'
import { widthOf } from '../text/terminal-text.ts'
import type { Surface } from './with-journal.ts'

export interface Column {
  readonly title: string
  readonly align?: 'right'
}

const gap = '  '

/**
 * Rows under their titles, each column as wide as it has to be, cut where the terminal ends. No spaces at
 * the ends of lines.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Line[])[],
  surface: Pick<Surface, 'columns' | 'symbols'>,
): Line[] {
  const head = columns.map(({ title }): Line => [span(title, 'dim')])
  const all = [head, ...rows]
  const widths = columns.map((_, i) =>
    all.reduce((most, row) => Math.max(most, widthOf(textOf(row[i] ?? []))), 0),
  )
  const room = surface.columns ?? Infinity
  return all.map((row) => {
    const last = row.findLastIndex((cell) => textOf(cell) !== '')
    const line = row.slice(0, last + 1).flatMap((cell, i): Span[] => {
      const space = span(' '.repeat(widths[i]! - widthOf(textOf(cell))))
      const isRight = columns[i]?.align === 'right'
      const padded = isRight ? [space, ...cell] : i === last ? cell : [...cell, space]
      return i === 0 ? [...padded] : [span(gap), ...padded]
    })
    return fit(line, room, surface.symbols.ellipsis)
  })
}
