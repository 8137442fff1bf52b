/** Which dependencies of a package mean packages of the same workspace. */
import path from 'node:path'
import { dependencyGroups, isFields } from '../manifest/local-range.ts'
import { normalName, parseRequirement } from '../manifest/requirement.ts'
import { readWorkspaceRange } from '../manifest/workspace-range.ts'
import type { InternalDependency, WorkspacePackage } from '../model.ts'
import { requirementLists } from './python-package.ts'

/** Finds packages by the references in a manifest. */
export class PackageIndex {
  readonly #byName = new Map<string, WorkspacePackage>()
  readonly #byFolder = new Map<string, WorkspacePackage>()
  readonly #root: string

  constructor(root: string, packages: Iterable<WorkspacePackage>) {
    this.#root = root
    for (const found of packages) {
      this.#byName.set(`${found.ecosystem} ${found.name}`, found)
      if (found.ecosystem === 'npm') this.#byFolder.set(found.folder, found)
    }
  }

  named(ecosystem: string, name: string): WorkspacePackage | undefined {
    return this.#byName.get(`${ecosystem} ${name}`)
  }

  /** Relative to the package, or as Yarn has it to the workspace. */
  inFolder(from: string, folder: string): WorkspacePackage | undefined {
    return (
      this.#byFolder.get(path.resolve(from, folder)) ??
      this.#byFolder.get(path.resolve(this.#root, folder))
    )
  }
}

/** The package with those of its dependencies that the workspace has, in the order of the manifest. */
export function withDependencies(of: WorkspacePackage, index: PackageIndex): WorkspacePackage {
  const dependencies =
    of.ecosystem === 'npm' ? npmDependencies(of, index) : pythonDependencies(of, index)
  return { ...of, dependencies }
}

function npmDependencies(of: WorkspacePackage, index: PackageIndex): InternalDependency[] {
  const found: InternalDependency[] = []
  for (const group of dependencyGroups) {
    const listed = of.manifest[group]
    if (!isFields(listed)) continue
    for (const [key, range] of Object.entries(listed)) {
      if (typeof range !== 'string') continue
      const target = npmTarget(of, key, range, index)
      if (target === undefined) continue
      found.push({
        name: target.name,
        group,
        range,
        ...(target.name === key ? {} : { alias: key }),
      })
    }
  }
  return found
}

const aliased = /^npm:(?<name>(?:@[^/@]+\/)?[^/@:]+)(?<range>@)?/
const folders = [
  /^(?:(?:link|file|portal):)?(?<path>\.{1,2}(?:\/.*)?|\/.*)$/,
  /^(?:link|file|portal):(?<path>.+)$/,
]

/** What `key: range` means: another name, a folder, or the name that stands there. */
function npmTarget(
  of: WorkspacePackage,
  key: string,
  range: string,
  index: PackageIndex,
): WorkspacePackage | undefined {
  const own = readWorkspaceRange(range)
  const alias = aliased.exec(range)?.groups
  const bare = alias !== undefined && alias['range'] === undefined ? alias['name'] : undefined
  // Without a range it may also be one of Yarn: `npm:^1.0.0`, `npm:next`.
  const isBare = bare !== undefined && index.named('npm', bare) !== undefined
  const name = own?.name ?? (isBare || bare === undefined ? alias?.['name'] : undefined)
  if (name !== undefined) return index.named('npm', name)
  const found = folders.map((each) => each.exec(range)).find((each) => each !== null)
  const place = own?.folder ?? found?.groups?.['path']
  if (place !== undefined) return index.inFolder(of.folder, place)
  return index.named('npm', key)
}

function pythonDependencies(of: WorkspacePackage, index: PackageIndex): InternalDependency[] {
  const found: InternalDependency[] = []
  for (const { group, requirements } of [...requirementLists(of.manifest), ...builtLists(of)]) {
    for (const text of requirements) {
      const requirement = typeof text === 'string' ? parseRequirement(text) : undefined
      if (requirement === undefined) continue
      const target = index.named('python', normalName(requirement.name))
      // `all = ["core[fast]"]` in core itself collects its own extras.
      if (target === undefined || target.name === of.name) continue
      const { extras, range, marker } = requirement
      found.push({ name: target.name, group, range: `${extras}${range}${marker}` })
    }
  }
  return found
}

/** Requirements that the build has computed. Those of an extra have it in their marker. */
function builtLists({ builtRequirements = [] }: WorkspacePackage): {
  readonly group: string
  readonly requirements: readonly string[]
}[] {
  return builtRequirements.map((requirement) => {
    const extra = /;.*\bextra\s*==\s*["']([^"']+)["']/.exec(requirement)?.[1]
    const group =
      extra === undefined ? 'project.dependencies' : `project.optional-dependencies.${extra}`
    return { group, requirements: [requirement] }
  })
}
