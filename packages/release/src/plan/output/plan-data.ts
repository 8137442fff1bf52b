/** The plan for programs. */
import path from 'node:path'
import type { Ecosystem, PlanStatus, ReleasePlan, Workspace } from '../../model.ts'
import { planWarnings } from '../check-plan.ts'
import { releaseProblems, type ReleaseProblem } from '../release-problems.ts'
import { inReleaseOrder } from './plan-levels.ts'

export interface PlanJson {
  /** Version of this format. Fields may be added without changing it. */
  readonly version: 1
  readonly source: ReleasePlan['source']
  readonly tool: Workspace['tool']
  readonly packages: readonly PlanJsonPackage[]
  /** Why publishing would refuse the plan. Empty when it would not. */
  readonly problems: readonly ReleaseProblem[]
  readonly warnings: readonly string[]
}

export interface PlanJsonPackage {
  readonly name: string
  readonly ecosystem: Ecosystem
  /** From the root of the workspace, with `/`; `.` for the root. */
  readonly folder: string
  readonly current: string
  readonly version: string
  readonly status: PlanStatus
  readonly reason: string
  readonly distTag: string
  readonly level: number
  readonly after: readonly string[]
  /** Whether the registry has this version; absent where it was not asked, or did not answer. */
  readonly published?: boolean
}

/** Plain data in the order of the release: nothing of the machine it was made on. */
export function planJson(
  plan: ReleasePlan,
  published: ReadonlyMap<string, boolean> = new Map(),
): PlanJson {
  const { workspace, source } = plan
  const packages = inReleaseOrder(plan).map(
    ({ package: each, version, status, reason, distTag, level, after }): PlanJsonPackage => ({
      name: each.name,
      ecosystem: each.ecosystem,
      folder: path.relative(workspace.root, each.folder).split(path.sep).join('/') || '.',
      current: each.version,
      version,
      status,
      reason,
      distTag,
      level,
      after,
      ...(published.has(each.name) && { published: published.get(each.name)! }),
    }),
  )
  return {
    version: 1,
    source,
    tool: workspace.tool,
    packages,
    problems: releaseProblems(plan),
    warnings: planWarnings(plan),
  }
}

/** One line for each package, for spreadsheets. */
export function planCsv(plan: ReleasePlan): string {
  const head = [
    'name',
    'ecosystem',
    'folder',
    'current',
    'version',
    'status',
    'distTag',
    'level',
    'after',
    'reason',
  ] as const
  const rows = planJson(plan).packages.map((each) =>
    head.map((key) => quoted(cell(each, key))).join(','),
  )
  return [head.join(','), ...rows, ''].join('\r\n')
}

function cell(each: PlanJsonPackage, key: keyof PlanJsonPackage): string {
  if (key === 'after') return each.after.join(' ')
  // A spreadsheet takes a text that starts like this for a formula, and any author may have written this one.
  return key === 'reason' && /^[=+\-@\t\r]/.test(each.reason)
    ? `'${each.reason}`
    : String(each[key])
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
