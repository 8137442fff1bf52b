/** What new versions change in the manifests of a workspace. */
import semver from 'semver'
import { dependencyGroups, isFields } from '../manifest/local-range.ts'
import { likewise, movedRange } from '../manifest/moved-range.ts'
import { valueAt, type ValueChange } from '../manifest/text-edit.ts'
import type { PlannedPackage, ReleasePlan } from '../model.ts'

/** Whether the plan gives this package another version than its manifest has. */
export function isVersioned({ status, version, package: each }: PlannedPackage): boolean {
  return (status === 'included' || status === 'private') && version !== each.version
}

/**
 * The changes of one package.json: its version, and the ranges of packages that get a new version. A
 * package that is released itself names the new versions; one that is not keeps a range that still
 * allows them. `workspace:^` and its like follow by themselves.
 */
export function npmEdits(planned: PlannedPackage, plan: ReleasePlan): ValueChange[] {
  const { manifest, version } = planned.package
  const changes: ValueChange[] = []
  if (isVersioned(planned) && typeof manifest['version'] === 'string' && version !== '') {
    changes.push({ path: ['version'], value: planned.version })
  }
  for (const group of dependencyGroups) {
    const listed = manifest[group]
    if (!isFields(listed)) continue
    for (const [dependency, range] of Object.entries(listed)) {
      const target = plan.packages.get(dependency)
      if (typeof range !== 'string' || target === undefined || !isVersioned(target)) continue
      const value = newRange(range, target, isVersioned(planned))
      if (value !== range) changes.push({ path: [group, dependency], value })
    }
  }
  return changes
}

function newRange(
  range: string,
  { package: each, version }: PlannedPackage,
  isReleased: boolean,
): string {
  const [, protocol = '', spec = range] = /^(workspace:)(.*)$/.exec(range) ?? []
  if (semver.validRange(spec) === null || /^[*^~]?$/.test(spec)) return range
  const isCurrent = semver.satisfies(each.version, spec, { includePrerelease: true })
  const moved =
    isReleased && isCurrent ? likewise(spec, version) : movedRange(spec, each.version, version)
  return `${protocol}${moved ?? spec}`
}

/** The version of a pyproject.toml. One that is made by the build has none to edit. */
export function pythonEdits(planned: PlannedPackage): ValueChange[] {
  if (!isVersioned(planned)) return []
  const path = ['project', 'version']
  const isWritten = typeof valueAt(planned.package.manifest, path) === 'string'
  return isWritten ? [{ path, value: planned.version }] : []
}
