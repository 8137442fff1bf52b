/** From a decision for each package to a plan: what all planners share. */
import { HeddleError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { isFields } from '../manifest/local-range.ts'
import type {
  PlannedChange,
  PlannedPackage,
  PlanStatus,
  ReleasePlan,
  Workspace,
  WorkspacePackage,
} from '../model.ts'
import { mapLimited, questionsAtOnce } from '../workspace/limited.ts'
import { neededDependencies, releaseOrder } from './release-order.ts'
import { exclusions, matching, type SelectionOptions } from './selection.ts'
import { prereleaseName } from './versions.ts'

/** Asks whether a version can be installed by others. */
export type OnRegistry = (
  of: WorkspacePackage,
  version: string,
  wait: WaitOptions,
) => Promise<boolean>

export interface PlanOptions extends SelectionOptions, WaitOptions {
  /**
   * When given, dependencies of released packages that are not released with them must be on the
   * registry; the plan is refused otherwise. When absent, the plan has a warning for dependencies left
   * out on purpose.
   */
  readonly onRegistry?: OnRegistry
  /** The dist-tag of all npm packages, whatever else says one. */
  readonly distTag?: string
  /** The dist-tag of npm packages whose version is not a prerelease, unless a manifest says one. */
  readonly releaseTag?: string
  /** Lists of patterns: the packages of each get the same version when versions are made. */
  readonly groups?: readonly (readonly string[])[]
  /**
   * Keyed by package: other packages that must be on the registry first, although no manifest says
   * so.
   */
  readonly order?: Readonly<Record<string, readonly string[]>>
}

/** What a planner found out about one package. */
export interface Decision {
  /** The version it gets, or the one it has. */
  readonly version: string
  readonly isReleased: boolean
  readonly reason: string
  readonly distTag?: string | undefined
  readonly access?: 'public' | 'restricted' | undefined
  readonly changes?: readonly PlannedChange[] | undefined
}

/** Why a package is left out that `exclude` does not name. */
const leftOutReasons: Readonly<Record<NonNullable<WorkspacePackage['leftOut']>, string>> = {
  root: 'root of the workspace: name it with include, or write "private": false',
  unlisted: 'not in "workspaces" of package.json: add it there, or name it with include',
}

/**
 * *Cancellation*: nothing is left behind; questions to the registry end first.
 * *Fairness*: the registry is asked in the order of names.
 *
 * @throws `HDL_PACKAGE_CYCLE`, `HDL_PLAN_INVALID`, and `HDL_BAD_OPTION` for patterns that match nothing.
 */
export async function assemblePlan(
  workspace: Workspace,
  source: ReleasePlan['source'],
  decisions: ReadonlyMap<string, Decision>,
  options: PlanOptions,
  found: readonly string[] = [],
): Promise<ReleasePlan> {
  const { packages } = workspace
  // A misprint would take a package out of its group, whatever the plan comes from.
  for (const patterns of options.groups ?? []) matching('groups', patterns, packages)
  const isCandidate = (each: WorkspacePackage): boolean =>
    !each.isPrivate && decisions.get(each.name)?.isReleased === true
  const candidates = new Set([...packages.values()].filter(isCandidate).map(({ name }) => name))
  const left = new Map<string, string>(exclusions(packages, candidates, options))
  for (const name of candidates) {
    const isAsked = options.include?.includes(name) === true
    const { leftOut } = packages.get(name)!
    if (leftOut !== undefined && !isAsked) left.set(name, leftOutReasons[leftOut])
  }
  const included = [...packages.values()].filter(
    ({ name }) => candidates.has(name) && !left.has(name),
  )
  const { after, levels, loosePeers } = releaseOrder(included, configuredOrder(packages, options))

  const planned = new Map<string, PlannedPackage>()
  for (const [name, each] of packages) {
    const decision = decisions.get(name) ?? {
      version: each.version,
      isReleased: false,
      reason: 'no changes',
    }
    const exclusion = left.get(name)
    const status = statusOf(each, decision, exclusion !== undefined)
    // An excluded package keeps its version: others must refer to the one that is on the registry.
    const version = status === 'excluded' ? each.version : decision.version
    const access = accessOf(each) ?? decision.access
    planned.set(name, {
      package: each,
      version,
      status,
      reason: status === 'private' ? privateReason(each) : (exclusion ?? decision.reason),
      after: after.get(name) ?? [],
      level: levels.get(name) ?? 0,
      distTag: options.distTag ?? decision.distTag ?? distTagOf(each, version, options.releaseTag),
      ...(access === undefined ? {} : { access }),
      ...(decision.changes !== undefined && { changes: decision.changes }),
    })
  }
  const warnings = [...(workspace.warnings ?? []), ...found]
  for (const [dependent, dependency] of loosePeers) {
    warnings.push(
      `${dependent} lists ${dependency} as a peer or in an extra, and ${dependency} needs ${dependent}: ${dependent} is released without waiting for it.`,
    )
  }
  const { distTag } = options
  const plan: ReleasePlan = {
    workspace,
    source,
    packages: planned,
    ...(distTag !== undefined && { distTag }),
  }
  warnings.push(...(await checkLeftOut(plan, options)))
  return warnings.length === 0 ? plan : { ...plan, warnings }
}

function statusOf(
  { isPrivate }: WorkspacePackage,
  { isReleased }: Decision,
  isExcluded: boolean,
): PlanStatus {
  if (isPrivate) return 'private'
  if (isExcluded) return 'excluded'
  return isReleased ? 'included' : 'unchanged'
}

function privateReason({ ecosystem, manifest }: WorkspacePackage): string {
  if (ecosystem === 'npm') return manifest['private'] ? '"private": true' : 'no version'
  return 'not to be uploaded'
}

/** @throws `HDL_BAD_OPTION` for a name that no package has. */
function configuredOrder(
  packages: Workspace['packages'],
  { order = {} }: PlanOptions,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const [name, before] of Object.entries(order)) {
    for (const dependent of matching('order', [name], packages)) {
      const needed = matching('order', before, packages)
      found.set(dependent, [...(found.get(dependent) ?? []), ...needed])
    }
  }
  return found
}

function distTagOf(
  { ecosystem, manifest }: WorkspacePackage,
  version: string,
  releaseTag = 'latest',
): string {
  const { publishConfig } = manifest
  const configured = isFields(publishConfig) ? publishConfig['tag'] : undefined
  if (typeof configured === 'string') return configured
  return prereleaseName(ecosystem, version) ?? releaseTag
}

function accessOf({ manifest }: WorkspacePackage): 'public' | 'restricted' | undefined {
  const { publishConfig } = manifest
  const access = isFields(publishConfig) ? publishConfig['access'] : undefined
  return access === 'public' || access === 'restricted' ? access : undefined
}

/** Dependencies of released packages that are not released with them. */
async function checkLeftOut(
  plan: ReleasePlan,
  { onRegistry, ...wait }: PlanOptions,
): Promise<string[]> {
  const missing: { dependent: string; needed: PlannedPackage }[] = []
  for (const { package: each, status } of plan.packages.values()) {
    if (status !== 'included') continue
    for (const name of new Set(neededDependencies(each).map((dependency) => dependency.name))) {
      const needed = plan.packages.get(name)!
      if (needed.status === 'excluded' || needed.status === 'unchanged')
        missing.push({ dependent: each.name, needed })
    }
  }
  if (onRegistry === undefined) {
    return missing
      .filter(({ needed }) => needed.status === 'excluded')
      .map(
        ({ dependent, needed }) =>
          `${dependent} needs ${needed.package.name}, which is left out: ${needed.version} must be on the registry.`,
      )
  }
  const asked = [...new Set(missing.map(({ needed }) => needed))]
  const answers = await mapLimited(
    asked,
    questionsAtOnce,
    async (needed) => onRegistry(needed.package, needed.version, wait),
    wait.signal,
  )
  const absent = new Set(asked.filter((_, index) => !answers[index]))
  const problems = missing
    .filter(({ needed }) => absent.has(needed))
    .map(
      ({
        dependent,
        needed: {
          package: { name },
          version,
          status,
        },
      }) => ({
        package: dependent,
        dependency: name,
        problem: `"${dependent}" needs "${name}", which is ${status} here, and ${name}@${version} is not on the registry`,
      }),
    )
  if (problems.length > 0) throw new HeddleError('HDL_PLAN_INVALID', { problems })
  return []
}
