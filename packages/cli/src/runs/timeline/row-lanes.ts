/** Which rows of a long timeline are drawn on their own, and which together. */
import { type TimelineRow } from '@heddle/core/lowlevel'
import type { PlaceName } from '@heddle/core'

/** Rows that are drawn as one: how many of them ran at a time. */
export interface RowGroup {
  /** The job of all these rows; undefined for the remaining ones. */
  readonly job: string | undefined
  readonly rows: readonly TimelineRow[]
}

/** The rows of one place. */
export interface Lane {
  readonly place: PlaceName
  /** All rows, drawn on their own or not. */
  readonly all: readonly TimelineRow[]
  readonly rows: readonly TimelineRow[]
  readonly groups: readonly RowGroup[]
}

/** A timeline with more rows than this is folded. */
export const mostRows = 60
/** This many rows are still drawn one by one. */
export const rowsKept = 36
const groupsShown = 6

const places: readonly PlaceName[] = ['loop', 'thread', 'fleet']

/** `kept`: the nodes that are drawn on their own. */
export function lanesOf(rows: readonly TimelineRow[], kept: ReadonlySet<string>): Lane[] {
  return places
    .map((place): Lane => {
      const all = rows.filter((row) => row.place === place)
      const groups = groupsOf(all.filter(({ node }) => !kept.has(node)))
      return { place, all, rows: all.filter(({ node }) => kept.has(node)), groups }
    })
    .filter(({ all }) => all.length > 0)
}

/** Groups rows by job, the largest group first; the remaining rows form one group. */
function groupsOf(rows: readonly TimelineRow[]): RowGroup[] {
  const byJob = [...Map.groupBy(rows, ({ job }) => job)]
    .map(([job, own]): RowGroup => ({ job, rows: own }))
    .sort((a, b) => b.rows.length - a.rows.length)
  const isCommon = ({ rows: own }: RowGroup, i: number): boolean =>
    own.length > 1 && (byJob.length <= groupsShown || i < groupsShown - 1)
  const shown = byJob.filter(isCommon)
  const left = byJob.filter((group, i) => !isCommon(group, i)).flatMap((group) => group.rows)
  return left.length === 0 ? shown : [...shown, { job: undefined, rows: left }]
}
