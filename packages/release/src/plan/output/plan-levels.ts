import type { PlannedPackage, ReleasePlan } from '../../model.ts'
import { compareText } from '../../workspace/workspace-problems.ts'

const statuses = ['included', 'excluded', 'unchanged', 'private'] as const

/** Released packages by level and name, then the others by status and name. */
export function inReleaseOrder({ packages }: ReleasePlan): PlannedPackage[] {
  const rank = ({ status, level }: PlannedPackage): number =>
    status === 'included' ? level : packages.size + statuses.indexOf(status)
  return [...packages.values()].toSorted(
    (a, b) => rank(a) - rank(b) || compareText(a.package.name, b.package.name),
  )
}

/** Names by level: those of one level need nothing of each other. For reading only. */
export function planLevels(plan: ReleasePlan): string[][] {
  const levels: string[][] = []
  for (const { package: each, status, level } of inReleaseOrder(plan)) {
    if (status === 'included') (levels[level] ??= []).push(each.name)
  }
  return levels
}

/** `1.2.3 → 1.3.0`, or the version alone where it stays. */
export function versionChange({ package: { version: current }, version }: PlannedPackage): string {
  return current === version ? version : `${current} → ${version}`
}
