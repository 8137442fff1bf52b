import type { PlannedPackage, ReleasePlan } from '../../model.ts'
import { columnsOf, padded, plainText, shorten } from './text.ts'
import { inReleaseOrder, versionChange } from './order.ts'

export interface TableOptions {
  /** Columns of the terminal. Without it nothing is cut off. */
  readonly width?: number
  /** Which packages the registry has in their planned version: a column of its own. */
  readonly published?: ReadonlyMap<string, boolean>
}

const gap = '  '
/** A name that is cut off further cannot be told from its neighbours. */
const narrowest = 12

/**
 * The plan for people: released packages first, in the order of their release; then the others. No
 * colours: lines are text, and whoever prints them knows the terminal.
 */
export function planTable(
  plan: ReleasePlan,
  { width = Infinity, published }: TableOptions = {},
): string {
  const asked = published === undefined ? [] : ['registry']
  const head = ['package', 'version', 'status', ...asked, 'tag', 'reason']
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
    summary(plan),
    ...(plan.warnings ?? []).map((text) => `warning: ${plainText(text)}`),
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
    versionChange(planned),
    status,
    ...(published === undefined ? [] : [registry]),
    status === 'included' ? planned.tag : '',
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

/** `3 of 5 packages to release, 2 levels` */
function summary(plan: ReleasePlan): string {
  const all = [...plan.packages.values()]
  const included = all.filter(({ status }) => status === 'included')
  const levels = included.reduce((most, { level }) => Math.max(most, level + 1), 0)
  const count = `${included.length} of ${all.length} ${all.length === 1 ? 'package' : 'packages'} to release`
  return included.length === 0 ? count : `${count}, ${levels} ${levels === 1 ? 'level' : 'levels'}`
}
