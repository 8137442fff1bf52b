/** The level of the load over the last ten minutes: a band of colours, and in words how long each lasted. */
import type { JSX } from 'preact'
import { formatDuration, formatTime } from '../../parts/format.ts'
import { stretchesOf, timesOf, wordOf } from './levels.ts'

const width = 1_000

export function LevelStrip({
  at,
  levels,
}: {
  readonly at: readonly number[]
  readonly levels: readonly string[]
}): JSX.Element {
  const stretches = stretchesOf(at, levels)
  const start = at[0] ?? 0
  const length = Math.max(1, (at.at(-1) ?? 0) - start)
  const place = (time: number): number => ((time - start) / length) * width
  return (
    <figure class="levels">
      <figcaption class="row">
        <b>Level</b>
        <span class="grow" />
        {timesOf(stretches).map(([level, ms]) => (
          <span key={level} class="legend-entry num">
            <svg width="10" height="10" aria-hidden="true">
              <rect class={`level ${level}`} width="10" height="10" rx="2" />
            </svg>
            {wordOf(level)} {formatDuration(ms)}
          </span>
        ))}
      </figcaption>
      <svg viewBox={`0 0 ${width} 12`} preserveAspectRatio="none" aria-hidden="true">
        {stretches.map(({ level, from, to }) => (
          <rect
            key={from}
            class={`level ${level}`}
            x={place(from)}
            width={Math.max(2, place(to) - place(from))}
            height="12"
          >
            <title>
              {wordOf(level)} from {formatTime(from, to)} to {formatTime(to, to)}
            </title>
          </rect>
        ))}
      </svg>
    </figure>
  )
}
