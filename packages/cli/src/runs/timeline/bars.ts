/**
 * Bars of a timeline, one character for each column.
 *
 * Invariants, quoted by the tests:
 *  B1  A bar has exactly as many characters as the scale has columns.
 *  B2  Every attempt is seen: it has at least one column, and that is not the column of a gap.
 *  B3  A column of a gap shows the gap, whatever waits there.
 */
import { type Stretch, type TimelineRow, type TimeSpan } from '@heddle/core/lowlevel'
import { span, type Line, type Span, type Style } from '../../text/line.ts'
import type { TimelineSymbols } from './timeline-symbols.ts'
import type { Scale } from './scale.ts'

interface Cell {
  readonly text: string
  readonly style?: Style
}

/** From the first to before the last column of a span. One that began where a gap begins was before it. */
export function columnsOf(
  { from, to }: Pick<TimeSpan, 'from' | 'to'>,
  scale: Scale,
): readonly [first: number, end: number] {
  const column = Math.min(Math.floor(scale.columnOf(from)), scale.columns - 1)
  const first = scale.gaps.some((gap) => gap.column === column) ? column - 1 : column
  const end = Math.ceil(scale.columnOf(to))
  return [first, Math.min(scale.columns, Math.max(first + 1, end))]
}

/** The columns that lie in a suspended stretch as a whole, without the first of its attempt (B2). */
function insideOf(
  { from, to }: Stretch,
  attempt: Pick<TimeSpan, 'from' | 'to'>,
  scale: Scale,
): readonly [first: number, end: number] {
  const [first, end] = columnsOf(attempt, scale)
  return [
    Math.max(first + 1, Math.ceil(scale.columnOf(from))),
    Math.min(end, Math.floor(scale.columnOf(to))),
  ]
}

export function barOf(row: TimelineRow, scale: Scale, symbols: TimelineSymbols): Line {
  const cells: Cell[] = Array.from({ length: scale.columns }, () => ({ text: ' ' }))
  const draw = (timeSpan: TimeSpan, cell: Cell): number => {
    const [first, end] = columnsOf(timeSpan, scale)
    cells.fill(cell, first, end)
    return end
  }
  // What waits first: a short attempt must not be hidden behind the wait for the next.
  for (const each of row.spans) {
    if (each.kind === 'queue') draw(each, { text: symbols.queue, style: 'dim' })
    if (each.kind === 'backoff') draw(each, { text: symbols.backoff, style: 'yellow' })
  }
  for (const each of row.spans) {
    if (each.kind !== 'run') continue
    const { outcome } = each
    const style: Style =
      outcome === 'succeeded' ? (row.critical ? ['green', 'bold'] : 'green') : styles[outcome]
    const end = draw(each, { text: symbols.run, style })
    for (const stretch of each.suspended ?? []) {
      const [from, to] = insideOf(stretch, each, scale)
      for (let at = from; at < to; at++) cells[at] = { text: symbols.suspended, style: 'dim' }
    }
    if (outcome !== 'succeeded') cells[end - 1] = { text: symbols.ends[outcome], style }
  }
  return withGaps(cells, scale, symbols)
}

const styles: Readonly<Record<'running' | 'failed' | 'cancelled' | 'interrupted', Style>> = {
  running: 'cyan',
  failed: 'red',
  cancelled: 'yellow',
  interrupted: 'yellow',
}

/** How many of several rows ran, column by column: a digit, or + above 9. */
export function groupBarOf(
  rows: readonly TimelineRow[],
  scale: Scale,
  symbols: TimelineSymbols,
): Line {
  const busy = Array.from({ length: scale.columns }, () => 0)
  for (const each of rows.flatMap(({ spans }) => spans)) {
    if (each.kind !== 'run') continue
    const [first, end] = columnsOf(each, scale)
    for (let i = first; i < end; i++) {
      const from = scale.timeOf(i)
      const to = scale.timeOf(i + 1)
      const overlap = Math.min(each.to, to) - Math.max(each.from, from)
      // A bar shorter than a column counts with its length, and never as nothing.
      busy[i]! += to > from ? Math.max(overlap / (to - from), 1e-9) : 1
    }
  }
  const cells = busy.map((count): Cell => {
    if (count === 0) return { text: ' ' }
    const running = Math.max(1, Math.round(count))
    return { text: running > 9 ? '+' : String(running), style: 'green' }
  })
  return withGaps(cells, scale, symbols)
}

function withGaps(cells: Cell[], { gaps }: Scale, symbols: TimelineSymbols): Line {
  for (const { column } of gaps) cells[column] = { text: symbols.gap, style: 'dim' }
  const line: Span[] = []
  for (const { text, style } of cells) {
    const last = line.at(-1)
    if (last !== undefined && last.style === style)
      line[line.length - 1] = span(last.text + text, style)
    else line.push(span(text, style))
  }
  return line
}
