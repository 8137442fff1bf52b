/** A time series on a canvas (uPlot), with the last values as text for those who do not see it. */
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { colours } from './colours.ts'
import { formatTime, labelsOf } from './format.ts'
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
}

export function Chart({
  title,
  times,
  series,
  format,
  height = 150,
  isSigned = false,
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
          // A second at least: the first sample alone has no extent.
          x: { range: (_, low, high) => [Math.min(low, high - 1), high] },
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
            values: (_, ticks) => labelsOf(ticks, (at) => formatTime(at * 1_000)),
          },
          { ...axis, size: 56, values: (_, ticks) => labelsOf(ticks, format) },
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
