/**
 * What a range of package.json becomes when the package is released.
 *
 * | in the workspace               | released                                   |
 * |--------------------------------|--------------------------------------------|
 * | `workspace:*`, `workspace:`    | `1.2.3`                                    |
 * | `workspace:^`, `workspace:~`, `workspace:>=` | `^1.2.3`, `~1.2.3`, `>=1.2.3` |
 * | `^0.9.0 \|\| workspace:^`      | `^0.9.0 \|\| ^1.2.3`                       |
 * | `workspace:1.x`, `workspace:^1.0.0` | `1.x`, `^1.0.0`; moved as below if it must be |
 * | `workspace:../p`               | `1.2.3`; `npm:p@1.2.3` under another name  |
 * | `workspace:p@^`, `npm:p@workspace:^` | `npm:p@^1.2.3`                       |
 * | `catalog:`, `catalog:name`     | what the catalog says, resolved again      |
 * | `link:../p`, `file:../p`, `portal:../p`, `../p` | `^1.2.3`; `npm:p@^1.2.3` under another name |
 * | `npm:^1.0.0`; with Yarn also `npm:next` | `^1.0.0`; `next`                  |
 * | `jsr:^1.0.0`, `jsr:@s/p@^1.0.0` | `npm:@jsr/s__p@^1.0.0`                    |
 * | a plain range for a package of the workspace | as written, or moved: see {@link movedRange} |
 * | anything else                  | as written                                 |
 *
 * In a snapshot, each of these is exactly the planned version of a package that is released with it.
 *
 * 1.2.3 stands for the planned version of that package. Any other local range is an
 * error, and so is a range that leads to a private package, unless it is bundled or in devDependencies.
 */
import path from 'node:path'
import semver from 'semver'
import { suggest } from '@heddle/core/lowlevel'
import type { PlannedPackage, ReleasePlan, WorkspacePackage } from '../model.ts'
import { bundledNames } from './bundled-names.ts'
import { isLocalRange, localRangeError, type ListedRange } from './local-range.ts'
import { movedRange } from './moved-range.ts'
import {
  hasWorkspacePart,
  rangeOfVersion,
  readWorkspaceRange,
  withVersion,
  type WorkspaceRange,
} from './workspace-range.ts'

const alias = /^(?<name>(?:@[^/@]+\/)?[^/@]+)@(?<range>.*)$/

/** Resolves the ranges of one package. */
export class RangeResolver {
  readonly #package: WorkspacePackage
  readonly #plan: ReleasePlan
  readonly #bundled: readonly string[]

  constructor(from: WorkspacePackage, plan: ReleasePlan) {
    this.#package = from
    this.#plan = plan
    this.#bundled = bundledNames(from.manifest)
  }

  /** @throws `HDL_LOCAL_RANGE` when its meaning outside of the workspace is unknown. */
  resolve(listed: ListedRange): string {
    const { dependency, range } = listed
    if (hasWorkspacePart(range)) return this.#parts(listed)
    const read = readWorkspaceRange(range)
    if (read !== undefined) return this.#workspace(listed, read)
    if (range.startsWith('catalog:')) return this.#catalog(listed, range.slice('catalog:'.length))
    if (range.startsWith('npm:')) return this.#npm(listed, range.slice('npm:'.length))
    if (range.startsWith('jsr:')) return jsr(dependency, range.slice('jsr:'.length))
    if (isLocalRange(range)) return this.#folder(listed, range.replace(/^\w+:/, ''), '^')
    const target = this.#planned(dependency)
    return target === undefined ? range : this.#moved(listed, target, range)
  }

  #parts(listed: ListedRange): string {
    const target = this.#released(listed, listed.dependency)
    const range = withVersion(listed.range, target.version)
    if (semver.validRange(range) === null) {
      throw localRangeError(this.#package.name, listed, `"${range}" is not a range`)
    }
    return this.#moved(listed, target, range)
  }

  #workspace(listed: ListedRange, { spec, name, folder }: WorkspaceRange): string {
    if (folder !== undefined) return this.#folder(listed, folder, spec)
    return this.#aliased(listed, name ?? listed.dependency, spec)
  }

  #npm(listed: ListedRange, spec: string): string {
    // Yarn writes plain ranges and dist-tags in this form, which npm does not understand. Elsewhere what is not a
    // range is the name of another package, without a version.
    const isPlain = this.#plan.workspace.tool === 'yarn' || semver.validRange(spec) !== null
    return alias.test(spec) || !isPlain ? listed.range : spec
  }

  #aliased(listed: ListedRange, name: string, spec: string): string {
    const range = this.#version(listed, this.#released(listed, name), spec)
    return name === listed.dependency ? range : `npm:${name}@${range}`
  }

  #version(listed: ListedRange, target: PlannedPackage, spec: string): string {
    if (this.#isExact(target)) return target.version
    if (spec === '<' || spec === '>') {
      const problem = `its own version ${target.version} is not in it`
      throw localRangeError(this.#package.name, listed, problem)
    }
    return rangeOfVersion(spec, target.version) ?? this.#moved(listed, target, spec)
  }

  /** S2: packages of a snapshot need each other exactly. */
  #isExact({ status }: PlannedPackage): boolean {
    return this.#plan.isSnapshot === true && status === 'included'
  }

  #moved(listed: ListedRange, target: PlannedPackage, range: string): string {
    if (this.#isExact(target)) return target.version
    const moved = movedRange(range, target.package.version, target.version)
    if (moved !== undefined) return moved
    const versions = `${target.package.version} becomes ${target.version}, which it does not allow`
    throw localRangeError(this.#package.name, listed, versions)
  }

  #catalog(listed: ListedRange, spec: string): string {
    const name = spec.trim() || 'default'
    const catalog = this.#plan.workspace.catalogs.get(name)
    const found = catalog?.get(listed.dependency)
    if (found === undefined) {
      const problem =
        catalog === undefined ? `there is no catalog "${name}"` : `the catalog "${name}" lacks it`
      throw localRangeError(this.#package.name, listed, problem)
    }
    if (found.startsWith('catalog:')) {
      throw localRangeError(this.#package.name, listed, `the catalog says ${found}`)
    }
    return this.resolve({ ...listed, range: found })
  }

  #folder(listed: ListedRange, folder: string, spec: string): string {
    const { root, packages } = this.#plan.workspace
    // Relative to the package; Yarn writes folders relative to the workspace.
    const folders = [this.#package.folder, root].map((base) => path.resolve(base, folder))
    const target = [...packages.values()].find((other) => folders.includes(other.folder))
    if (target === undefined || target.ecosystem !== 'npm') {
      throw localRangeError(this.#package.name, listed, 'no package of the workspace is there')
    }
    return this.#aliased(listed, target.name, spec)
  }

  #planned(name: string): PlannedPackage | undefined {
    const found = this.#plan.packages.get(name)
    return found?.package.ecosystem === 'npm' ? found : undefined
  }

  /** A package that others can install, or at least one of the workspace for development. */
  #released(listed: ListedRange, name: string): PlannedPackage {
    const found = this.#planned(name)
    if (found === undefined) {
      const similar = suggest(name, [...this.#plan.packages.keys()])
      const hint = similar === undefined ? '' : `; did you mean "${similar}"?`
      throw localRangeError(
        this.#package.name,
        listed,
        `the workspace has no package "${name}"${hint}`,
      )
    }
    const isInstalled =
      listed.group !== 'devDependencies' && !this.#bundled.includes(listed.dependency)
    if (found.package.isPrivate && isInstalled) {
      throw localRangeError(this.#package.name, listed, `"${name}" is private and never published`)
    }
    return found
  }
}

/** The registry of jsr.io offers its packages to npm under these names. */
function jsr(dependency: string, spec: string): string {
  const { name = dependency, range = spec } = alias.exec(spec)?.groups ?? {}
  return `npm:@jsr/${name.replace(/^@/, '').replace('/', '__')}@${range}`
}
