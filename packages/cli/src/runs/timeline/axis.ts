import { formatDuration } from '../../text/format.ts'
import { span, type Line } from '../../text/line.ts'
import type { TimelineSymbols } from './timeline-symbols.ts'
import type { Scale } from './scale.ts'

/** Columns from one tick to the next, at least. */
const tickDistance = 9

/** Milliseconds, as people count them. */
const niceSteps = [
  1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1_000, 2_000, 2_500, 5_000, 10_000, 20_000, 30_000,
  60_000, 120_000, 300_000, 600_000, 1_200_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000,
  28_800_000, 86_400_000,
]

/** Times since the start of the run, above the bars. Not wider than the scale. */
export function axisOf(scale: Scale, symbols: TimelineSymbols): Line {
  const cells = Array.from({ length: scale.columns }, () => ' ')
  let free = 0
  let lastText = ''
  const label = (column: number, end: number, time: number, step: number): void => {
    const text = `${symbols.tick}${formatTick(time, step)}`
    if (column < free || column + text.length > end || text === lastText) return
    lastText = text
    for (let i = 0; i < text.length; i++) cells[column + i] = text[i]!
    free = column + text.length + 1
  }
  const gaps = new Set(scale.gaps.map(({ column }) => column))
  const starts = [0, ...scale.gaps.map(({ column }) => column + 1)]
  for (const [i, start] of starts.entries()) {
    const end = scale.gaps[i]?.column ?? scale.columns
    const from = scale.timeOf(start)
    const perColumn = scale.timeOf(start + 1) - from
    const step = niceSteps.find((each) => each >= perColumn * tickDistance) ?? niceSteps.at(-1)!
    label(start, end, from, step)
    for (let time = Math.ceil(from / step) * step; perColumn > 0; time += step) {
      const column = Math.round(scale.columnOf(time))
      if (column >= end || time > scale.timeOf(end)) break
      if (time > from) label(column, end, time, step)
    }
  }
  for (const column of gaps) if (cells[column] === ' ') cells[column] = symbols.gap
  return [span(cells.join('').trimEnd(), 'dim')]
}

/** With the precision of the ticks: two neighbours that both read 12 s would say nothing. */
function formatTick(time: number, step: number): string {
  const isFine = step < 1_000 && time >= 1_000 && time < 60_000
  return isFine ? `${(time / 1_000).toFixed(step < 100 ? 2 : 1)} s` : formatDuration(time)
}
