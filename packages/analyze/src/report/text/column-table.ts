import { pad, span, type Line, type Measure, type Span } from './line.ts'

/** A cell may have several lines. */
export type Cell = readonly Span[]

/** Rows under each other with two spaces between columns; cells are aligned at the top. */
export function table(rows: readonly (readonly Cell[])[], measure: Measure): Line[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [i, cell] of row.entries()) {
      const width = Math.max(0, ...cell.map(({ text }) => measure.widthOf(text)))
      widths[i] = Math.max(widths[i] ?? 0, width)
    }
  }
  return rows.flatMap((row) => {
    const height = Math.max(1, ...row.map((cell) => cell.length))
    return Array.from({ length: height }, (_, line) =>
      row.map((cell, i): Span => {
        const { text = '', style } = cell[line] ?? {}
        return span(i === row.length - 1 ? text : `${pad(text, widths[i]!, measure)}  `, style)
      }),
    )
  })
}
