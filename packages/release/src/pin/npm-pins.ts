import semver from 'semver'
import type { HeddleError } from '@heddle/core'
import {
  dependencyGroups,
  isFields,
  isLocalRange,
  orCollect,
  throwFirst,
  type DependencyGroup,
  type Fields,
} from '../manifest/local-range.ts'
import { RangeResolver } from '../manifest/resolve-range.ts'
import type { ValueChange } from '../manifest/text-edit.ts'
import type { PlannedPackage, ReleasePlan } from '../model.ts'

/**
 * How a group is pinned:
 *  - `exact`: packages of the workspace at exactly the planned version;
 *  - `range`: as they are released, because an exact peer would conflict with every other version;
 *  - `local`: only what means nothing outside of the workspace, because they are never installed.
 *
 * Packages from outside stay as they are; only `catalog:` becomes the range of the catalog.
 */
const policies: Readonly<Record<DependencyGroup, 'exact' | 'range' | 'local'>> = {
  dependencies: 'exact',
  optionalDependencies: 'exact',
  peerDependencies: 'range',
  devDependencies: 'local',
}

const alias = /^npm:(?<name>(?:@[^/]+\/)?[^@]+)@(?<range>.+)$/

/** The planned version, if the released range leads to a package of the workspace. */
function exactly(plan: ReleasePlan, dependency: string, released: string): string {
  const aliased = alias.exec(released)?.groups
  const target = plan.packages.get(aliased?.['name'] ?? dependency)
  if (target?.package.ecosystem !== 'npm') return released
  if (!semver.satisfies(target.version, aliased?.['range'] ?? released)) return released
  return aliased === undefined ? target.version : `npm:${aliased['name']}@${target.version}`
}

/**
 * What pinning changes in a package.json.
 *
 * @throws `HDL_LOCAL_RANGE`; `errors` has all of them.
 */
export function npmPins(
  planned: PlannedPackage,
  plan: ReleasePlan,
  manifest: Fields,
): ValueChange[] {
  const resolver = new RangeResolver(planned.package, plan)
  const changes: ValueChange[] = []
  const errors: HeddleError<'HDL_LOCAL_RANGE'>[] = []
  const { version } = manifest
  if (typeof version === 'string' && version !== planned.version) {
    changes.push({ path: ['version'], value: planned.version })
  }
  for (const group of dependencyGroups) {
    const listed = manifest[group]
    if (!isFields(listed)) continue
    for (const [dependency, range] of Object.entries(listed)) {
      if (typeof range !== 'string') continue
      if (policies[group] === 'local' && !isLocalRange(range)) continue
      const released = orCollect(errors, () => resolver.resolve({ group, dependency, range }))
      if (released === undefined) continue
      const value = policies[group] === 'exact' ? exactly(plan, dependency, released) : released
      if (value !== range) changes.push({ path: [group, dependency], value })
    }
  }
  throwFirst(errors)
  return changes
}
