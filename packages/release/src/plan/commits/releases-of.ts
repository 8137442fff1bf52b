/** Which tag of the history is the last release of a package. */
import semver from 'semver'
import type { WorkspacePackage } from '../../model.ts'
import { parsePythonVersion } from '../../workspace/python-version.ts'
import { compareVersions, prereleaseName } from '../versions.ts'
import type { Tag } from '../../git/commit-log.ts'

export interface LastRelease {
  /** The highest version that was tagged or that the manifest has. */
  readonly current: string
  /** The release from which changes are counted; undefined when it must be the whole history. */
  readonly base: TaggedRelease | undefined
  readonly isFirst: boolean
}

export interface TaggedRelease {
  readonly tag: Tag
  readonly version: string
}

/**
 * Tags by the text before their version: `@acme/core@1.0.0`, `@acme/core@v1.0.0`, `core-v1.0.0`, `v1.0.0`, `1.0.0`. A
 * configured format may put anything around it.
 */
export class ReleaseTags {
  readonly #tags: readonly Tag[]
  readonly #byPrefix = new Map<string, TaggedRelease[]>()
  readonly #format: string | undefined

  /** `format` is the tag format of this repository, in addition to the formats that are always recognized. */
  constructor(tags: readonly Tag[], format?: string) {
    this.#tags = tags
    this.#format = format
    for (const tag of tags) {
      const [, prefix, version] = /^(.*@v?|.*-v|v|)(\d[^@/]*)$/.exec(tag.name) ?? []
      if (prefix === undefined || version === undefined) continue
      const list = this.#byPrefix.get(prefix)
      if (list === undefined) this.#byPrefix.set(prefix, [{ tag, version }])
      else list.push({ tag, version })
    }
  }

  /** The releases of one package alone. */
  releasesOf({ name, ...of }: Pick<WorkspacePackage, 'name' | 'ecosystem'>): TaggedRelease[] {
    const short = name.slice(name.indexOf('/') + 1)
    const prefixes = new Set([`${name}@`, `${name}@v`, `${name}-v`, `${short}-v`])
    const known = [...prefixes].flatMap((prefix) => this.#byPrefix.get(prefix) ?? [])
    const format = this.#format?.includes('{name}') === true ? this.#format : undefined
    return [...known, ...this.#formatted(format?.replaceAll('{name}', () => name))].filter(
      ({ version }) => isVersion(of, version),
    )
  }

  /** The releases of all packages together. */
  sharedReleases(): TaggedRelease[] {
    const format = this.#format?.includes('{name}') === false ? this.#format : undefined
    const known = ['v', ''].flatMap((prefix) => this.#byPrefix.get(prefix) ?? [])
    return [...known, ...this.#formatted(format)]
  }

  #formatted(format: string | undefined): TaggedRelease[] {
    const [before, after] = format?.split('{version}') ?? []
    if (before === undefined || after === undefined) return []
    return this.#tags
      .filter(({ name }) => name.startsWith(before) && name.endsWith(after))
      .map((tag) => ({
        tag,
        version: tag.name.slice(before.length, tag.name.length - after.length),
      }))
  }

  /**
   * The reachable tag with the highest version: on a straight history the nearest one. Where an
   * older line was merged back, the nearest one would be of that line, and everything that the
   * newer line has released would be counted again.
   *
   * For a release that is not a prerelease, prereleases do not count as releases: the version they announced counts.
   */
  lastOf(of: WorkspacePackage, isShared: boolean, isPrerelease: boolean): LastRelease {
    const shared = this.sharedReleases().filter(({ version }) => isVersion(of, version))
    const own = this.releasesOf(of)
    // A tag for all packages is the release of one that has exactly its version.
    const together = own.length > 0 ? [] : shared.filter(({ version }) => version === of.version)
    const releases = [...own, ...(isShared ? shared : together)].toSorted((a, b) =>
      compareVersions(of.ecosystem, b.version, a.version),
    )
    const [highest] = releases
    const base = releases.find(
      ({ version }) => isPrerelease || prereleaseName(of.ecosystem, version) === undefined,
    )
    const isBehind =
      highest !== undefined && compareVersions(of.ecosystem, highest.version, of.version) > 0
    return {
      current: isBehind ? highest.version : of.version,
      base,
      isFirst: highest === undefined,
    }
  }
}

function isVersion({ ecosystem }: Pick<WorkspacePackage, 'ecosystem'>, version: string): boolean {
  return ecosystem === 'npm'
    ? semver.valid(version) !== null
    : parsePythonVersion(version) !== undefined
}
