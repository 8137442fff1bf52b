/** What new versions change in the manifests of a workspace. */
import semver from 'semver'
import { dependencyGroups, isFields } from '../manifest/local-range.ts'
import { likewise, movedRange } from '../manifest/moved-range.ts'
import { movedRequirement } from '../manifest/moved-requirement.ts'
import { normalName, parseRequirement } from '../manifest/requirement.ts'
import { valueAt, type ValueChange } from '../manifest/text-edit.ts'
import {
  asWorkspaceRange,
  isWorkspaceRange,
  rangeOfVersion,
  readWorkspaceRange,
} from '../manifest/workspace-range.ts'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import type { ChangesetsConfig } from '../plan/changesets/changesets-config.ts'
import { requirementLists } from '../workspace/python-package.ts'

/** Whether the plan gives this package another version than its manifest has. */
export function isVersioned({ status, version, package: each }: PlannedPackage): boolean {
  return (status === 'included' || status === 'private') && version !== each.version
}

/** What the config of Changesets says about ranges. */
export type RangeRules = Pick<
  ChangesetsConfig,
  'leastRangeBump' | 'keepsPeers' | 'workspaceProtocolOnly' | 'ignore' | 'versionsPrivate'
>

/**
 * The changes of one package.json: its version, and the ranges of packages that get a new version. A
 * package that is released itself names the new versions, where the config of Changesets does not say
 * otherwise; one that is not keeps a range that still allows them. `workspace:^` and its like follow by
 * themselves. A range with several parts that excludes the new version is a problem: only its
 * author can say what it should be.
 */
export function npmEdits(
  planned: PlannedPackage,
  plan: ReleasePlan,
  problems: RangeProblem[],
  rules?: RangeRules,
): ValueChange[] {
  const { manifest, version } = planned.package
  const follows = isVersioned(planned) || (rules !== undefined && isRewritten(planned, plan, rules))
  const changes: ValueChange[] = []
  if (isVersioned(planned) && typeof manifest['version'] === 'string' && version !== '') {
    changes.push({ path: ['version'], value: planned.version })
  }
  for (const { group, range, target } of movingRanges(planned, plan)) {
    const { name } = target.package
    const isWritten = rules?.workspaceProtocolOnly !== true || isWorkspaceRange(range)
    if (!isWritten) continue
    const value = newRange(range, target, follows && isFollowed(group, target, rules))
    if (value !== undefined) {
      if (value !== range) changes.push({ path: [group, name], value })
    } else if (isVersioned(planned) && group !== 'devDependencies') {
      problems.push(rangeProblem(planned, target, `"${name}": "${range}" in ${group}`))
    }
  }
  return changes
}

interface MovingRange {
  readonly group: (typeof dependencyGroups)[number]
  readonly range: string
  readonly target: PlannedPackage
}

/** The ranges of packages that get a new version. */
function movingRanges({ package: { manifest } }: PlannedPackage, plan: ReleasePlan): MovingRange[] {
  return dependencyGroups.flatMap((group) => {
    const listed = manifest[group]
    if (!isFields(listed)) return []
    return Object.entries(listed).flatMap(([dependency, range]): MovingRange[] => {
      const target = plan.packages.get(dependency)
      if (typeof range !== 'string' || target === undefined || !isVersioned(target)) return []
      return [{ group, range, target }]
    })
  })
}

/** Whether a range that allows the new version follows it all the same. */
function isFollowed(
  group: MovingRange['group'],
  { package: each, version }: PlannedPackage,
  rules: RangeRules | undefined,
): boolean {
  if (rules === undefined) return true
  if (group === 'peerDependencies') return !rules.keepsPeers
  const change = semver.diff(each.version, version)
  const isPatch = change === 'patch' || change === 'prepatch' || change === 'prerelease'
  return rules.leastRangeBump === 'patch' || !isPatch
}

/**
 * The dependencies whose new version a package takes with its own: those whose range follows, or excludes it. The
 * others, and those for development, are not named in its changelog.
 */
export function followedNames(
  planned: PlannedPackage,
  plan: ReleasePlan,
  rules: RangeRules | undefined,
): ReadonlySet<string> {
  const followed = movingRanges(planned, plan).filter(({ group, range, target }) => {
    if (group === 'devDependencies') return false
    if (isFollowed(group, target, rules)) return true
    const spec = readWorkspaceRange(range)?.spec
    const own = spec === undefined ? undefined : rangeOfVersion(spec, target.package.version)
    return !semver.satisfies(target.version, own ?? spec ?? range)
  })
  return new Set(followed.map(({ target }) => target.package.name))
}

/**
 * Whether Changesets rewrites the ranges of a package that gets no version: one that never gets any, or one whose
 * development dependency no longer fits.
 */
function isRewritten(planned: PlannedPackage, plan: ReleasePlan, rules: RangeRules): boolean {
  const { name, isPrivate } = planned.package
  if (rules.ignore.has(name) || (isPrivate && !rules.versionsPrivate)) return true
  return movingRanges(planned, plan).some(
    ({ group, range, target }) =>
      group === 'devDependencies' && newRange(range, target, false) !== range,
  )
}

/** Undefined where a range with several parts would exclude the new version. */
function newRange(
  range: string,
  { package: each, version }: PlannedPackage,
  isReleased: boolean,
): string | undefined {
  const own = readWorkspaceRange(range)
  const spec = own?.spec ?? range
  // One that names another package or a folder follows by itself.
  if (own?.name !== undefined || own?.folder !== undefined) return range
  if (semver.validRange(spec) === null || /^[*^~]?$/.test(spec)) return range
  const isCurrent = semver.satisfies(each.version, spec, { includePrerelease: true })
  const moved =
    isReleased && isCurrent ? likewise(spec, version) : movedRange(spec, each.version, version)
  if (moved !== undefined) return own === undefined ? moved : asWorkspaceRange(moved)
  return semver.satisfies(version, spec, { includePrerelease: true }) ? range : undefined
}

/** A range that excludes the version which is made of its package. */
export interface RangeProblem {
  readonly package: string
  readonly dependency: string
  readonly problem: string
}

function rangeProblem(
  { package: { name } }: PlannedPackage,
  { package: target, version }: PlannedPackage,
  where: string,
): RangeProblem {
  const problem = `${name}: ${where} does not allow ${version} of ${target.name}. Write the range that it should have`
  return { package: name, dependency: target.name, problem }
}

/** Lists that an installer of the package or a developer of the workspace resolves. */
const resolved = /^(?:project|dependency-groups|tool)\b/

/** The changes of one pyproject.toml: its version, unless its build makes that, and ranges that exclude a new version. */
export function pythonEdits(
  planned: PlannedPackage,
  plan: ReleasePlan,
  problems: RangeProblem[],
): ValueChange[] {
  const { manifest, name } = planned.package
  const changes: ValueChange[] = []
  const place = ['project', 'version']
  if (isVersioned(planned) && typeof valueAt(manifest, place) === 'string') {
    changes.push({ path: place, value: planned.version })
  }
  for (const { group, keys, requirements } of requirementLists(manifest)) {
    if (!resolved.test(group)) continue
    for (const [index, text] of requirements.entries()) {
      const requirement = typeof text === 'string' ? parseRequirement(text) : undefined
      if (requirement === undefined) continue
      const target = plan.packages.get(normalName(requirement.name))
      if (target === undefined || target.package.name === name) continue
      if (target.package.ecosystem !== 'python' || !isVersioned(target)) continue
      const { range } = requirement
      const moved = movedRequirement(range, target.package.version, target.version)
      if (moved === undefined) {
        problems.push(rangeProblem(planned, target, `"${String(text)}" in ${group}`))
      } else if (moved !== range) {
        changes.push({
          path: [...keys, index],
          value: (text as string).replace(range, () => moved),
        })
      }
    }
  }
  return changes
}
