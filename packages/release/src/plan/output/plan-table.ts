import type { PlannedPackage, ReleasePlan } from '../../model.ts'
import { planWarnings } from '../check-plan.ts'
import { releaseProblems } from '../release-problems.ts'
import { columnsOf, padded, plainText, shorten } from './column-text.ts'
import { inReleaseOrder, versionChange } from './plan-levels.ts'

export interface TableOptions {
  /** Columns of the terminal. Without it nothing is cut off. */
  readonly width?: number
  /** Which packages the registry has in their planned version: a column of its own. */
  readonly published?: ReadonlyMap<string, boolean>
}

const gap = '  '
/** A name that is cut off further cannot be distinguished from its neighbours. */
const narrowest = 12

/**
 * The plan for people: released packages first, in the order of their release; then the others. No
 * colours: lines are text, and the caller knows the terminal.
 */
export function planTable(
  plan: ReleasePlan,
  { width = Infinity, published }: TableOptions = {},
): string {
  const asked = published === undefined ? [] : ['registry']
  const head = ['package', 'version', 'status', ...asked, 'dist-tag', 'reason']
  const rows = inReleaseOrder(plan).map((planned) => cellsOf(planned, published))
  const widths = fit([head, ...rows], width)
  const lines = [head, ...rows].map((cells) =>
    cells
      .map((cell, column) => padded(shorten(cell, widths[column]!), widths[column]!))
      .join(gap)
      .trimEnd(),
  )
  return [
    ...lines,
    '',
    summary(plan, published),
    ...releaseProblems(plan).map(({ package: name, problem }) =>
      plainText(`error: ${name} cannot be released: ${problem}`),
    ),
    ...[...planWarnings(plan), ...takenVersions(plan, published)].map(
      (text) => `warning: ${plainText(text)}`,
    ),
  ].join('\n')
}

function cellsOf(
  planned: PlannedPackage,
  published: ReadonlyMap<string, boolean> | undefined,
): string[] {
  const { status, reason, package: each } = planned
  const isThere = published?.get(each.name)
  const registry = isThere === undefined ? '' : isThere ? 'published' : 'new'
  return [
    each.name,
    // Its manifest may be behind its tags: that is not a change to come.
    status === 'unchanged' ? planned.version : versionChange(planned),
    status,
    ...(published === undefined ? [] : [registry]),
    status === 'included' ? planned.distTag : '',
    reason,
  ].map(plainText)
}

/** The reason gives way first, then the name. */
function fit(rows: readonly (readonly string[])[], width: number): number[] {
  const widths = rows[0]!.map((_, column) =>
    Math.max(...rows.map((cells) => columnsOf(cells[column]!))),
  )
  let excess =
    widths.reduce((sum, each) => sum + each, 0) + gap.length * (widths.length - 1) - width
  for (const column of [widths.length - 1, 0]) {
    const given = Math.max(0, Math.min(excess, widths[column]! - narrowest))
    widths[column]! -= given
    excess -= given
  }
  return widths
}

/** New versions that the registry has from another release: publishing refuses them. */
function takenVersions(
  { packages, source, isSnapshot = false }: ReleasePlan,
  published: ReadonlyMap<string, boolean> | undefined,
): string[] {
  if (isSnapshot) return []
  return [...packages.values()].flatMap(({ package: each, status, version, changes }) => {
    const isNew = version !== each.version || (source === 'commits' && changes !== undefined)
    if (status !== 'included' || !isNew || published?.get(each.name) !== true) return []
    return [
      `The registry has ${each.name}@${version} already, without these changes. Are tags or merges of another branch missing here?`,
    ]
  })
}

/** `3 of 5 packages to release, 2 levels`, `1 of 5 packages to release, 2 published already` */
function summary(plan: ReleasePlan, published: ReadonlyMap<string, boolean> = new Map()): string {
  const all = [...plan.packages.values()]
  const planned = all.filter(({ status }) => status === 'included')
  const included = planned.filter(({ package: { name } }) => published.get(name) !== true)
  const there = planned.length - included.length
  if (there > 0) {
    const count = `${included.length} of ${all.length} ${all.length === 1 ? 'package' : 'packages'} to release`
    return `${count}, ${there} published already`
  }
  const levels = included.reduce((most, { level }) => Math.max(most, level + 1), 0)
  const count = `${included.length} of ${all.length} ${all.length === 1 ? 'package' : 'packages'} to release`
  return included.length === 0 ? count : `${count}, ${levels} ${levels === 1 ? 'level' : 'levels'}`
}
