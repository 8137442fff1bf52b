/** Checks without a registry: can users install the released packages? */
import semver from 'semver'
import { HeddleError } from '@heddle/core'
import { movedRange } from '../manifest/moved-range.ts'
import { parseRequirement, pinRequirement, pythonVersion } from '../manifest/requirement.ts'
import type { InternalDependency, PlannedPackage, ReleasePlan } from '../model.ts'
import { satisfiesPython } from '../workspace/python-version.ts'
import { internalRange } from './internal-range.ts'
import { neededDependencies } from './release-order.ts'

export interface PlanFinding {
  /** An `error` must be repaired before anything is uploaded. */
  readonly level: 'error' | 'warning'
  /**
   * `private`: it needs a package that is never published. `range`: the planned version is outside of the range in the
   * manifest. `older`: the manifest means an older version on purpose, or by mistake.
   */
  readonly kind: 'private' | 'range' | 'older'
  readonly package: string
  readonly dependency: string
  readonly problem: string
}

/** Findings in the order of names. Each dependency of a released package is checked. */
export function checkPlan(plan: ReleasePlan): PlanFinding[] {
  const findings: PlanFinding[] = []
  for (const planned of plan.packages.values()) {
    if (planned.status !== 'included') continue
    for (const dependency of neededDependencies(planned.package)) {
      const target = plan.packages.get(dependency.name)!
      const found = target.package.isPrivate
        ? privateFinding(dependency)
        : planned.package.ecosystem === 'npm'
          ? npmFinding(plan, dependency, target)
          : pythonFinding(dependency, target)
      if (found !== undefined)
        findings.push({ ...found, package: planned.package.name, dependency: dependency.name })
    }
  }
  return findings
}

/** Warnings of the plan and those that {@link checkPlan} finds, as sentences for people. */
export function planWarnings(plan: ReleasePlan): string[] {
  const findings = checkPlan(plan)
    .filter(({ level }) => level === 'warning')
    .map(({ package: name, problem }) => `${name}: ${problem}`)
  return [...(plan.warnings ?? []), ...findings]
}

/** @throws `HDL_PLAN_INVALID` with all errors among the findings. */
export function requireInstallable(plan: ReleasePlan): void {
  const problems = checkPlan(plan)
    .filter(({ level }) => level === 'error')
    .map(({ package: name, dependency, problem }) => ({
      package: name,
      dependency,
      problem: `${name}: ${problem}`,
    }))
  if (problems.length > 0) throw new HeddleError('HDL_PLAN_INVALID', { problems })
}

type Found = Pick<PlanFinding, 'level' | 'kind' | 'problem'> | undefined

function privateFinding({ name, group }: InternalDependency): Found {
  return {
    level: 'error',
    kind: 'private',
    problem: `"${name}" in ${group} is private and never published`,
  }
}

function npmFinding(
  plan: ReleasePlan,
  dependency: InternalDependency,
  target: PlannedPackage,
): Found {
  const { name, group, range } = dependency
  const { version: current } = target.package
  const { version: planned } = target
  // S2: whatever is written, it becomes exactly this version.
  if (plan.isSnapshot === true && target.status === 'included') return undefined
  const released = internalRange(dependency, planned, plan.workspace)
  if (released === undefined || semver.satisfies(planned, released)) return undefined
  const where = `"${name}" in ${group} is "${range}"`
  if (!semver.satisfies(current, released)) {
    const allowed =
      current === planned
        ? `does not allow ${planned} of this workspace`
        : `allows neither ${current} of this workspace nor ${planned}`
    const problem = `${where}, which ${allowed}: an older version is installed`
    return { level: 'warning', kind: 'older', problem }
  }
  const moved = movedRange(released, current, planned)
  const outside = `${where}, which allows ${current} but not ${planned}`
  if (moved === undefined) return { level: 'error', kind: 'range', problem: outside }
  return { level: 'warning', kind: 'range', problem: `${outside}: it is released as "${moved}"` }
}

/** Requirements of the same workspace are released as exactly the planned version. */
function pythonFinding({ name, group, range }: InternalDependency, target: PlannedPackage): Found {
  const requirement = parseRequirement(`${name}${range}`)
  const version = pythonVersion(target.version)
  if (requirement === undefined || satisfiesPython(version, requirement.range) !== false)
    return undefined
  const problem = `"${name}${range}" in ${group} does not allow ${version}: it is released as "${pinRequirement(requirement, version)}"`
  return { level: 'warning', kind: 'range', problem }
}
