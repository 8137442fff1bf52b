/** A time series on a canvas (uPlot), with the last values as text for screen readers. */
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { browserClock } from '../kernel/clock.ts'
import { colours } from './colours.ts'
import { formatTimeTicks, labelsOf } from './format.ts'
import { useSize } from './size.ts'

export interface Series {
  readonly label: string
  readonly values: readonly (number | null)[]
  /** A colour of the theme. */
  readonly colour: string
}

interface ChartProps {
  readonly title: string
  /** Seconds since 1970. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  readonly height?: number
  /** Values may be negative: zero is not the bottom. */
  readonly isSigned?: boolean
  /** Values are whole numbers: so are the marks of the axis. */
  readonly isCount?: boolean
}

/** Seconds that the time axis has at least. */
const shortest = 10

/** Seconds between two marks of the time axis: texts have no fractions of a second. */
const timeSteps = [
  1,
  2,
  5,
  10,
  15,
  30,
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * 3_600),
]
const countSteps = Array.from({ length: 10 }, (_, power) => 10 ** power).flatMap((unit) => [
  unit,
  2 * unit,
  5 * unit,
])

export function Chart({
  title,
  times,
  series,
  format,
  height = 150,
  isSigned = false,
  isCount = false,
}: ChartProps): JSX.Element {
  const area = useRef<HTMLDivElement>(null)
  const size = useSize(area)
  const plot = useRef<uPlot | undefined>(undefined)
  const colour = colours()
  useEffect(() => {
    const axis = {
      stroke: colour.quiet,
      grid: { stroke: colour.line, width: 1 },
      ticks: { stroke: colour.line },
      font: `11px ${colour.font}`,
    }
    const made = new uPlot(
      {
        width: Math.max(120, Math.floor(size.width)),
        height,
        cursor: { drag: { x: false, y: false } },
        legend: { show: false },
        scales: {
          // The first samples alone have no extent.
          x: { range: (_, low, high) => [low, Math.max(high, low + shortest)] },
          y: {
            range: (_, low, high) =>
              isSigned
                ? [Math.min(low, -1) * 1.1, Math.max(high, 1) * 1.1]
                : [Math.min(0, low), high > 0 ? high * 1.1 : 1],
          },
        },
        axes: [
          {
            ...axis,
            size: 30,
            space: 80,
            incrs: timeSteps,
            values: (_, ticks) =>
              formatTimeTicks(
                ticks.map((at) => at * 1_000),
                browserClock.wallTime(),
              ),
          },
          {
            ...axis,
            size: 56,
            values: (_, ticks) => labelsOf(ticks, format),
            ...(isCount && { incrs: countSteps }),
          },
        ],
        series: [
          {},
          ...series.map(({ label, colour: stroke }) => ({
            label,
            stroke,
            width: 1.6,
            points: { show: false },
          })),
        ],
      },
      [[...times], ...series.map(({ values }) => [...values])],
      area.current!,
    )
    plot.current = made
    return () => made.destroy()
  }, [size.width, colour, series.length])
  useEffect(() => {
    plot.current?.setData([[...times], ...series.map(({ values }) => [...values])])
  }, [times])
  return (
    <figure class="chart">
      <figcaption class="row">
        <b>{title}</b>
        <span class="grow" />
        {series.map(({ label, values, colour: own }) => (
          <span key={label} class="legend-entry num">
            <svg width="10" height="10" aria-hidden="true">
              <rect width="10" height="10" rx="2" fill={own} />
            </svg>
            {label} {format(values.at(-1) ?? 0)}
          </span>
        ))}
      </figcaption>
      <div ref={area} aria-hidden="true" class="chart-area" />
    </figure>
  )
}
