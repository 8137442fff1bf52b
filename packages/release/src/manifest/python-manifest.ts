import type { HeddleError } from '@heddle/core'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import { isFields, localRangeError, throwFirst, type Fields } from './local-range.ts'
import {
  isLocalRequirement,
  normalName,
  parseRequirement,
  pinRequirement,
  pythonVersion,
} from './requirement.ts'
import { valueAt, type ValueChange, type ValuePath } from './text-edit.ts'

/** Lists of requirements that others install: `[project]` and its extras. */
function* requirementLists(document: Fields): Generator<[group: string, ValuePath, unknown[]]> {
  const main = valueAt(document, ['project', 'dependencies'])
  if (Array.isArray(main)) yield ['project.dependencies', ['project', 'dependencies'], main]
  const extras = valueAt(document, ['project', 'optional-dependencies'])
  if (!isFields(extras)) return
  for (const [extra, list] of Object.entries(extras)) {
    const path = ['project', 'optional-dependencies', extra]
    if (Array.isArray(list)) yield [path.join('.'), path, list]
  }
}

/** Planned versions by normal name. */
function pythonPackages(plan: ReleasePlan): Map<string, PlannedPackage> {
  const found = new Map<string, PlannedPackage>()
  for (const planned of plan.packages.values()) {
    if (planned.package.ecosystem === 'python') {
      found.set(normalName(planned.package.name), planned)
    }
  }
  return found
}

/**
 * What must change in a pyproject.toml for its release: the version, and every requirement of a
 * package of the same workspace becomes exactly the planned one. `[dependency-groups]` and
 * `[build-system]` stay as they are: installers of the package do not read them.
 *
 * @throws `HDL_LOCAL_RANGE` naming package, group and requirement; `errors` has all of them.
 */
export function pythonChanges(
  planned: PlannedPackage,
  plan: ReleasePlan,
  document: Fields,
): ValueChange[] {
  const { name } = planned.package
  const packages = pythonPackages(plan)
  const changes: ValueChange[] = []
  const errors: HeddleError<'HDL_LOCAL_RANGE'>[] = []
  const refuse = (group: string, dependency: string, range: string, problem: string): void => {
    errors.push(localRangeError(name, { group, dependency, range }, problem))
  }

  const version = valueAt(document, ['project', 'version'])
  const wanted = pythonVersion(planned.version)
  if (typeof version === 'string' && pythonVersion(version) !== wanted) {
    changes.push({ path: ['project', 'version'], value: wanted })
  }
  for (const [group, path, list] of requirementLists(document)) {
    for (const [index, text] of list.entries()) {
      const requirement = typeof text === 'string' ? parseRequirement(text) : undefined
      // A text that is not a requirement is left to the build backend, which reports it in its own words.
      if (requirement === undefined) continue
      const target = packages.get(normalName(requirement.name))
      // An extra made of other extras: `all = ["genkit[google,aws]"]`.
      if (target?.package.name === name) continue
      if (target === undefined) {
        if (isLocalRequirement(requirement)) {
          refuse(group, requirement.name, requirement.range, 'it leads to this machine')
        }
      } else if (target.package.isPrivate) {
        refuse(
          group,
          requirement.name,
          text as string,
          'that package is private and never published',
        )
      } else {
        const value = pinRequirement(requirement, pythonVersion(target.version))
        if (value !== text) changes.push({ path: [...path, index], value })
      }
    }
  }
  throwFirst(errors)
  return changes
}
