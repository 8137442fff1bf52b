/** What keeps a plan from being released, as far as it can be seen without a registry and without building anything. */
import semver from 'semver'
import { HeddleError, isError } from '@heddle/core'
import { releaseManifest } from '../manifest/npm-manifest.ts'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import { checkPlan } from './check-plan.ts'
import { inReleaseOrder } from './output/plan-levels.ts'

export interface ReleaseProblem {
  readonly package: string
  readonly problem: string
}

/** One entry for each reason for which publishing would refuse the plan, in the order of the release. */
export function releaseProblems(plan: ReleasePlan): ReleaseProblem[] {
  const uninstallable = checkPlan(plan).filter(({ level }) => level === 'error')
  return inReleaseOrder(plan).flatMap((planned): ReleaseProblem[] => {
    if (planned.status !== 'included') return []
    const { name } = planned.package
    const own = uninstallable.filter((each) => each.package === name)
    const named = new Set(own.map(({ dependency }) => dependency))
    const found = [
      ...own.map(({ problem }) => problem),
      ...manifestProblems(planned, plan, named),
      distTagProblem(planned),
    ]
    return found.flatMap((problem) => (problem === undefined ? [] : [{ package: name, problem }]))
  })
}

/** As npm refuses it: installers take such a tag for a range of versions. */
export function distTagProblem({ distTag, package: of }: PlannedPackage): string | undefined {
  if (of.ecosystem !== 'npm') return undefined
  if (semver.validRange(distTag) === null && encodeURIComponent(distTag) === distTag)
    return undefined
  return `the dist-tag "${distTag}" reads as a version or a range, or has characters that an address cannot have`
}

/** What the first stage would refuse, but for dependencies that are `named` already. */
function manifestProblems(
  planned: PlannedPackage,
  plan: ReleasePlan,
  named: ReadonlySet<string>,
): string[] {
  if (planned.package.ecosystem !== 'npm') return []
  try {
    releaseManifest(planned, plan)
    return []
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error
    const all: readonly unknown[] = error.errors ?? [error]
    return all.flatMap((each) => {
      if (!isError(each, 'HDL_LOCAL_RANGE')) return [error.message]
      const { dependency, group, range, problem } = each.details
      return named.has(dependency) ? [] : [`"${dependency}" in ${group} is "${range}": ${problem}`]
    })
  }
}
