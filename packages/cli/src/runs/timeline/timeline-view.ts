/** A timeline in text: lanes by place, one bar for each node, at most as wide as it may be. */
import {
  idleStretches,
  type RunRecord,
  type Timeline,
  type TimelineRow,
} from '@heddle/core/lowlevel'
import type { CriticalPath } from '@heddle/core'
import { pathText } from '../../output/run-summary.ts'
import { formatCount, formatDuration, plural } from '../../text/format.ts'
import { fit, span, type Line } from '../../text/line.ts'
import { pad, printable, truncate, widthOf } from '../../text/terminal-text.ts'
import { wrap } from '../../text/wrap.ts'
import type { Surface } from '../with-journal.ts'
import { nodeStyle, nodeSymbol } from '../node-state.ts'
import { notableNodes } from '../notable.ts'
import { axisOf } from './axis.ts'
import { barOf, groupBarOf } from './bars.ts'
import { lanesOf, mostRows, rowsKept, type Lane, type RowGroup } from './row-lanes.ts'
import { makeScale, type Scale } from './scale.ts'

export interface TimelineInput {
  readonly record: RunRecord
  readonly criticalPath: CriticalPath
  readonly timeline: Timeline
  readonly surface: Pick<Surface, 'symbols' | 'timelineSymbols'>
  readonly width: number
  /** No folding. */
  readonly all: boolean
}

/** Names get at most this share of the width. */
const nameShare = 0.3
const longestName = 32
const narrowestDuration = 9
/** `◆ ✓ `: whether it is on the critical path, and how it stands. */
const markWidth = 4
const narrowestBar = 8

interface Layout {
  readonly nameWidth: number
  readonly durationWidth: number
  readonly scale: Scale
}

export function timelineLines(input: TimelineInput): Line[] {
  const { timeline, record, width, surface } = input
  if (timeline.rows.length === 0) return [[span('Nothing has run.', 'dim')]]
  const critical = new Set(input.criticalPath.path.map(({ name }) => name))
  const isFolded = !input.all && timeline.rows.length > mostRows
  const withBars = new Set(timeline.rows.map(({ node }) => node))
  const drawn = record.nodes.filter(({ name }) => withBars.has(name))
  const kept = notableNodes(drawn, critical, isFolded ? rowsKept : Infinity)
  const lanes = lanesOf(timeline.rows, new Set(Array.from(kept, ({ name }) => name)))
  const layout = layoutOf(lanes, timeline, width)
  const lines: Line[] = [
    [
      span(' '.repeat(markWidth + layout.nameWidth + 1)),
      ...axisOf(layout.scale, surface.timelineSymbols),
    ],
    ...lanes.flatMap((lane) => laneLines(lane, layout, input)),
    [],
    ...notes(input, layout, isFolded),
  ]
  return lines.map((line) => fit(line, width, surface.symbols.ellipsis))
}

function layoutOf(lanes: readonly Lane[], timeline: Timeline, width: number): Layout {
  const names = lanes.flatMap(({ rows, groups }) => [
    ...rows.map(({ node }) => widthOf(printable(node))),
    ...groups.map((group) => widthOf(groupLabel(group))),
  ])
  const most = Math.min(longestName, Math.floor(width * nameShare))
  const longest = names.reduce((longer, name) => Math.max(longer, name), 1)
  const nameWidth = Math.max(1, Math.min(most, longest))
  const left = width - markWidth - nameWidth - 1
  const durationWidth = longestDuration(lanes)
  // Where there is no room for both, the bar says more than the number.
  const ownDuration = left - durationWidth - 1 >= narrowestBar * 2 ? durationWidth : 0
  const columns = Math.max(narrowestBar, left - (ownDuration === 0 ? 0 : ownDuration + 1))
  return {
    nameWidth,
    durationWidth: ownDuration,
    scale: makeScale(timeline.length, idleStretches(timeline), columns),
  }
}

/** Columns of the longest time in a row. */
function longestDuration(lanes: readonly Lane[]): number {
  let longest = narrowestDuration
  for (const { rows, groups } of lanes) {
    for (const row of rows) longest = Math.max(longest, formatDuration(timeOf(row)).length)
    for (const group of groups) {
      longest = Math.max(longest, formatDuration(medianRun(group.rows)).length)
    }
  }
  return longest
}

/** Milliseconds that its attempts ran. */
function timeOf({ spans }: TimelineRow): number {
  return spans.reduce((sum, { kind, from, to }) => sum + (kind === 'run' ? to - from : 0), 0)
}

function laneLines(lane: Lane, layout: Layout, input: TimelineInput): Line[] {
  const most = mostAtOnce(lane.all)
  const title = `${plural(lane.all.length, 'job')}, at most ${formatCount(most)} at once`
  return [
    [span(lane.place, 'bold'), span(`  ${title}`, 'dim')],
    ...lane.rows.map((row) => rowLine(row, layout, input)),
    ...lane.groups.map((group) => groupLine(group, layout, input)),
  ]
}

/** How many attempts ran at the same time. */
export function mostAtOnce(rows: readonly TimelineRow[]): number {
  const runs = rows.flatMap(({ spans }) => spans).filter(({ kind }) => kind === 'run')
  const steps = runs.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ])
  // If one ends as another begins, the end comes first.
  steps.sort((a, b) => a.at - b.at || a.by - b.by)
  let now = 0
  let most = Math.min(1, runs.length)
  for (const { by } of steps) most = Math.max(most, (now += by))
  return most
}

function rowLine(row: TimelineRow, layout: Layout, { surface }: TimelineInput): Line {
  const { symbols, timelineSymbols } = surface
  const { nameWidth, scale } = layout
  const name = pad(truncate(printable(row.node), nameWidth, symbols.ellipsis), nameWidth)
  return [
    span(row.critical ? `${timelineSymbols.critical} ` : '  ', 'bold'),
    span(`${nodeSymbol(row.state, symbols)} `, nodeStyle(row.state)),
    span(name),
    span(' '),
    ...barOf(row, scale, timelineSymbols),
    ...duration(formatDuration(timeOf(row)), layout),
  ]
}

function groupLine(group: RowGroup, layout: Layout, { surface }: TimelineInput): Line {
  const { nameWidth, scale } = layout
  const { ellipsis } = surface.symbols
  const name = pad(truncate(groupLabel(group), nameWidth, ellipsis), nameWidth)
  return [
    span(' '.repeat(markWidth)),
    span(name, 'dim'),
    span(' '),
    ...groupBarOf(group.rows, scale, surface.timelineSymbols),
    ...duration(formatDuration(medianRun(group.rows)), layout),
  ]
}

/** The job, and how many of it: the number must survive when the name is cut. */
function groupLabel({ job, rows }: RowGroup): string {
  return job === undefined
    ? plural(rows.length, 'other')
    : `${formatCount(rows.length)} ${printable(job)}`
}

function medianRun(rows: readonly TimelineRow[]): number {
  const times = rows.map(timeOf).sort((a, b) => a - b)
  return times[Math.floor((times.length - 1) / 2)]!
}

function duration(text: string, layout: Layout): Line {
  return layout.durationWidth === 0 ? [] : [span(` ${text.padStart(layout.durationWidth)}`)]
}

const gapsShown = 5
const idleShown = 6

/** The meaning of the signs, and the facts that the picture cannot show. */
function notes(input: TimelineInput, { scale }: Layout, isFolded: boolean): Line[] {
  const { record, criticalPath, timeline, surface, width } = input
  const { timelineSymbols, symbols } = surface
  const kinds = new Set(timeline.rows.flatMap(({ spans }) => spans.map(({ kind }) => kind)))
  const legend = [
    kinds.has('queue') ? `${timelineSymbols.queue} queued` : '',
    `${timelineSymbols.run} running`,
    timeline.rows.some(hasSuspended) ? `${timelineSymbols.suspended} suspended` : '',
    kinds.has('backoff') ? `${timelineSymbols.backoff} waiting to be tried again` : '',
    criticalPath.path.length > 0 ? `${timelineSymbols.critical} critical path` : '',
    scale.gaps.length > 0 ? `${timelineSymbols.gap} nothing ran` : '',
    isFolded ? '1 to 9, +: how many ran at a time, with the median of their durations' : '',
  ].filter((part) => part !== '')
  const lines: Line[] = inFewLines(legend, width, '   ').map((text): Line => [span(text, 'dim')])
  for (const { from, to } of scale.gaps.slice(0, gapsShown)) {
    const text = `${timelineSymbols.gap} nothing ran for ${formatDuration(to - from)} from +${formatDuration(from)}`
    lines.push([span(text, 'dim')])
  }
  const moreGaps = scale.gaps.length - gapsShown
  if (moreGaps > 0) lines.push([span(`${timelineSymbols.gap} and ${moreGaps} times more`, 'dim')])
  if (criticalPath.path.length > 0) {
    const of = `${formatDuration(criticalPath.length)} of ${formatDuration(record.elapsed)}`
    const path = `critical path ${of}: ${pathText({ criticalPath, symbols })}`
    lines.push(...wrap([span(path)], width))
  }
  if (timeline.idle.length > 0) {
    const names = timeline.idle.slice(0, idleShown).map(({ name }) => printable(name))
    const more = timeline.idle.length - names.length
    const rest = more > 0 ? ` and ${formatCount(more)} more` : ''
    const never = `${plural(timeline.idle.length, 'job')} never ran: ${names.join(', ')}${rest}`
    lines.push(...wrap([span(never)], width))
  }
  if (isFolded) {
    lines.push([
      span(`folded from ${formatCount(timeline.rows.length)} rows; --all shows each`, 'dim'),
    ])
  }
  return lines
}

function hasSuspended({ spans }: TimelineRow): boolean {
  return spans.some((each) => each.kind === 'run' && each.suspended !== undefined)
}

/** Parts in as few lines as the width allows. */
function inFewLines(parts: readonly string[], width: number, between: string): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const last = lines.at(-1)
    if (last !== undefined && widthOf(last) + widthOf(between) + widthOf(part) <= width) {
      lines[lines.length - 1] = `${last}${between}${part}`
    } else {
      lines.push(part)
    }
  }
  return lines
}
