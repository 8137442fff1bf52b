/** Which tag of the history is the last release of a package. */
import semver from 'semver'
import type { WorkspacePackage } from '../../model.ts'
import { parsePythonVersion } from '../../workspace/python-version.ts'
import { compareVersions, prereleaseName } from '../versions.ts'
import type { Tag } from './git.ts'

export interface LastRelease {
  /** The highest version that was tagged or that the manifest has. */
  readonly current: string
  /** What the changes are counted from; undefined when it must be the whole history. */
  readonly base: Tag | undefined
  readonly isFirst: boolean
}

interface Release {
  readonly tag: Tag
  readonly version: string
}

/**
 * Tags by what stands before their version: `@acme/core@1.0.0`, `core-v1.0.0`, `v1.0.0`, `1.0.0`, and
 * whatever a configured format puts there.
 */
export class ReleaseTags {
  readonly #byPrefix = new Map<string, Release[]>()

  readonly #format: string | undefined

  /** `format` names the tags of this repository, beside those that are always recognised. */
  constructor(tags: readonly Tag[], format?: string) {
    this.#format = format
    for (const tag of tags) {
      const [, prefix, version] = /^(.*@|.*-v|.*\/v?|v|)(\d[^@/]*)$/.exec(tag.name) ?? []
      if (prefix === undefined || version === undefined) continue
      const list = this.#byPrefix.get(prefix)
      if (list === undefined) this.#byPrefix.set(prefix, [{ tag, version }])
      else list.push({ tag, version })
    }
  }

  #prefixesOf(name: string): string[] {
    const short = name.slice(name.indexOf('/') + 1)
    const names = [...new Set([name, short])]
    const [before, after] = this.#format?.replaceAll('{name}', () => name).split('{version}') ?? []
    const configured = before === undefined || after !== '' ? [] : [before]
    return [...new Set([`${name}@`, ...names.map((each) => `${each}-v`), ...configured])]
  }

  /**
   * The reachable tag with the highest version: on a straight history the nearest one. Where an
   * older line was merged back, the nearest one would be of that line, and everything that the
   * newer line has released would be counted again.
   *
   * For a release that is no prerelease, prereleases are no releases: what they announced counts.
   */
  lastOf(of: WorkspacePackage, isShared: boolean, isPrerelease: boolean): LastRelease {
    const shared = ['v', ''].flatMap((prefix) => this.#byPrefix.get(prefix) ?? [])
    const own = this.#prefixesOf(of.name).flatMap((prefix) => this.#byPrefix.get(prefix) ?? [])
    // A tag for all packages is the release of one that has exactly its version.
    const together = own.length > 0 ? [] : shared.filter(({ version }) => version === of.version)
    const releases = [...own, ...(isShared ? shared : together)]
      .filter(({ version }) => isVersion(of, version))
      .toSorted((a, b) => compareVersions(of.ecosystem, b.version, a.version))
    const [highest] = releases
    const base = releases.find(
      ({ version }) => isPrerelease || prereleaseName(of.ecosystem, version) === undefined,
    )
    const isBehind =
      highest !== undefined && compareVersions(of.ecosystem, highest.version, of.version) > 0
    return {
      current: isBehind ? highest.version : of.version,
      base: base?.tag,
      isFirst: highest === undefined,
    }
  }
}

function isVersion({ ecosystem }: WorkspacePackage, version: string): boolean {
  return ecosystem === 'npm'
    ? semver.valid(version) !== null
    : parsePythonVersion(version) !== undefined
}
