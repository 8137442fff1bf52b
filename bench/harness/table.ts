import { alignColumns } from './align.ts'
import { describeLoad } from './machine-lock.ts'
import { renderObserved } from './observed-table.ts'
import type { RowResult } from './row.ts'

const headings = ['', 'result', 'ours is', 'loop gap', 'peak rss', 'of it build'] as const

/** The results as text for people: a block per row, best first. */
export function renderTable(results: readonly RowResult[]): string {
  const [first] = results
  const machine =
    first === undefined
      ? []
      : [
          `at the start: ${describeLoad(first.machine.atStart)}`,
          `at the end:   ${describeLoad(first.machine.atEnd)}`,
          '',
        ]
  return [...results.map(renderRow), ...machine].join('\n')
}

interface Line {
  readonly label: string
  readonly value: number | null
  readonly times: number | null
  readonly gap: number | null
  readonly rss: number | null
  readonly build: number | null
}

function renderRow(result: RowResult): string {
  const { ours, better } = result
  const timesOf = (value: number | null) =>
    ours === null || value === null ? null : better === 'more' ? ours / value : value / ours
  const lines: Line[] = [
    {
      label: 'heddle',
      value: ours,
      times: null,
      gap: result.loopGapMs,
      rss: result.rssMb,
      build: result.buildMs ?? null,
    },
    ...Object.entries(result.peers).map(([label, value]) => ({
      label,
      value,
      times: timesOf(value),
      gap: result.peerLoopGapMs[label] ?? null,
      rss: result.peerRssMb[label] ?? null,
      build: result.peerBuildMs[label] ?? null,
    })),
  ]
  const bare = (label: string, value: number | null): Line => ({
    label,
    value,
    times: timesOf(value),
    gap: null,
    rss: null,
    build: null,
  })
  for (const [label, value] of Object.entries(result.variants)) lines.push(bare(label, value))
  if (result.floor !== undefined) {
    lines.push({ ...bare('floor', result.floor), gap: result.floorLoopGapMs ?? null })
  }

  const worth = ({ value }: Line) =>
    value === null ? -Infinity : better === 'more' ? value : -value
  const cells = lines
    .toSorted((a, b) => worth(b) - worth(a))
    .map(({ label, value, times, gap, rss, build }) => [
      label,
      value === null ? 'failed' : `${grouped(value)} ${result.unit}`,
      times === null ? '' : `${times.toFixed(2)} x`,
      gap === null ? '' : `${gap.toFixed(1)} ms`,
      rss === null ? '' : `${Math.round(rss)} MB`,
      build === null ? '' : `${Math.round(build)} ms`,
    ])
  return [
    `${result.name} (${better} is better)`,
    ...alignColumns([[...headings], ...cells], 'right').map((line) => `  ${line}`),
    ...renderObserved(result.observed ?? {}).map((line) => `  ${line}`),
    ...result.notes.map((note) => `  note: ${note}`),
    ...collectorShare(result).map((note) => `  note: ${note}`),
    '',
  ].join('\n')
}

/** Whose a long gap is: the collector's or the code's. */
function collectorShare(result: RowResult): string[] {
  const { loopGapMs, collectorMs, loopGapOwnMs, loopGapOwnWorstMs } = result
  if (loopGapMs === null || collectorMs === null || loopGapOwnMs === null) return []
  if (collectorMs < 1) return []
  const floor = result.floorCollectorMs
  return [
    `the collector took ${collectorMs} ms of the longest gap; without it the longest is ${loopGapOwnMs} ms (worst ${loopGapOwnWorstMs})`,
    ...(floor === undefined ? [] : [`the collector took ${floor} ms of the floor's gap`]),
  ]
}

function grouped(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 2 : 0 })
}
