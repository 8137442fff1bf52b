/**
 * From which commit a version was published, beside the commit that is released now.
 *
 * Invariants, quoted by the tests:
 *  O1  A version that a commit of this history has made (`heddle release version`), and that was published
 *      from a commit without it and with other files or ranges, is another release: two branches have made
 *      the same version.
 *  O2  The first release of a package, as its commits say, that is on the registry already: its last
 *      release has no tag here, so what changed since is unknown, unless its files did not change.
 *  O3  A published version whose package has changed since, and that no commit has raised, is reported.
 */
import path from 'node:path'
import { isError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { otherRanges, type InstalledRanges } from '../manifest/workspace-ranges.ts'
import type { PlannedPackage, ReleasePlan, WorkspacePackage } from '../model.ts'
import { versionTrailer } from '../version/trailer.ts'
import { CommitLog } from './commit-log.ts'
import type { Repository } from './repository.ts'
import { runGit } from './run-git.ts'

/** Where package managers have their catalogs. */
const catalogFiles = ['package.json', 'pnpm-workspace.yaml', '.yarnrc.yml']

/** The details of a version that is on the registry. */
interface Published {
  /** The commit that it was published from. */
  readonly from: string | undefined
  readonly ranges?: InstalledRanges | undefined
}

export class VersionOrigins {
  readonly #repository: Repository
  /** The commits that have made a version, by `name@version`. */
  readonly #made = new Map<string, string[]>()
  /** Answers of Git: packages that are released together ask the same. */
  readonly #contained = new Map<string, Promise<boolean>>()

  private constructor(repository: Repository) {
    this.#repository = repository
  }

  static async read(
    repository: Repository | undefined,
    wait: WaitOptions,
  ): Promise<VersionOrigins | undefined> {
    if (repository === undefined) return undefined
    const origins = new VersionOrigins(repository)
    const git = new CommitLog(repository.root, { signal: wait.signal })
    for (const { name, commit } of await git.versionCommits(versionTrailer)) {
      origins.#made.set(name, [...(origins.#made.get(name) ?? []), commit])
    }
    return origins
  }

  /**
   * Whether the version on the registry lacks changes that this commit has to release under it (O1, O2). `from` is
   * the commit it was published from, where that is known.
   */
  async isOther(
    { package: of, version }: PlannedPackage,
    { from, ranges = {} }: Published,
    plan: ReleasePlan,
    wait: WaitOptions,
  ): Promise<boolean> {
    const isFromCommits = plan.source === 'commits'
    const made = this.#made.get(`${of.name}@${version}`) ?? []
    if (made.length === 0) {
      if (!isFromCommits) return false
      return from === undefined || this.#differs(of, from, this.#repository.head, wait)
    }
    if (from === undefined) return false
    for (const commit of made) {
      if (await this.#contains(from, commit, wait)) continue
      if (await this.#differs(of, from, commit, wait)) return true
      if (await this.#hasOtherRanges(of, ranges, commit, plan, wait)) return true
    }
    return false
  }

  /**
   * Whether the commit that made the version has other ranges than the published ones, with the same files. Its own
   * versions count, not those of today: ranges in a published package may have moved on since.
   */
  async #hasOtherRanges(
    of: WorkspacePackage,
    published: InstalledRanges,
    commit: string,
    plan: ReleasePlan,
    wait: WaitOptions,
  ): Promise<boolean> {
    const packages = new Map(plan.packages)
    for (const name of new Set(of.dependencies.map((each) => each.name))) {
      const planned = plan.packages.get(name)
      if (planned === undefined) continue
      const version = await this.#versionIn(commit, planned.package, wait)
      if (version === undefined) packages.delete(name)
      else packages.set(name, { ...planned, package: { ...planned.package, version }, version })
    }
    const then = { ...plan, packages }
    const others = otherRanges(of, then, published)
    if (others.length === 0) return false
    if (others.some(({ listed }) => !listed.range.startsWith('catalog:'))) return true
    return this.#hasSameCatalogs(commit, wait)
  }

  /** The version of a package in a commit; undefined where the commit has no such package. */
  async #versionIn(
    commit: string,
    of: WorkspacePackage,
    wait: WaitOptions,
  ): Promise<string | undefined> {
    try {
      const name = `${commit}:./${this.#inside(of.manifestFile)}`
      const text = await runGit(this.#repository.root, ['cat-file', 'blob', name], wait)
      const { version } = JSON.parse(text) as { readonly version?: unknown }
      return typeof version === 'string' ? version : undefined
    } catch (error) {
      if (isError(error, 'HDL_COMMAND_FAILED') || error instanceof SyntaxError) return undefined
      throw error
    }
  }

  /** Catalogs of today say nothing about a commit whose files had others. */
  async #hasSameCatalogs(commit: string, wait: WaitOptions): Promise<boolean> {
    const { head } = this.#repository
    const files = catalogFiles.flatMap((file) => [`${commit}:./${file}`, `${head}:./${file}`])
    const hashes = await this.#hashes(files, wait)
    return catalogFiles.every((_, index) => hashes[2 * index] === hashes[2 * index + 1])
  }

  /** O3: the names of packages whose folder differs between the commit they were published from and now. */
  async changedSince(
    published: readonly { readonly of: WorkspacePackage; readonly from: string }[],
    wait: WaitOptions,
  ): Promise<string[]> {
    const { head } = this.#repository
    const trees = await this.#hashes(
      published.flatMap(({ of, from }) => [this.#pathIn(from, of), this.#pathIn(head, of)]),
      wait,
    )
    return published.flatMap(({ of: { name } }, index) => {
      const [before, now] = trees.slice(2 * index)
      return before === undefined || before === now ? [] : [name]
    })
  }

  /** True also when this clone does not have the commit. */
  async #differs(
    of: WorkspacePackage,
    from: string,
    commit: string,
    wait: WaitOptions,
  ): Promise<boolean> {
    const [before, now] = await this.#hashes(
      [this.#pathIn(from, of), this.#pathIn(commit, of)],
      wait,
    )
    return before === undefined || before !== now
  }

  #contains(commit: string, ancestor: string, wait: WaitOptions): Promise<boolean> {
    const key = `${commit} ${ancestor}`
    const known = this.#contained.get(key) ?? this.#isAncestor(commit, ancestor, wait)
    this.#contained.set(key, known)
    return known
  }

  async #isAncestor(commit: string, ancestor: string, wait: WaitOptions): Promise<boolean> {
    if (commit === ancestor) return true
    try {
      await runGit(this.#repository.root, ['merge-base', '--is-ancestor', ancestor, commit], wait)
      return true
    } catch (error) {
      // It is not, or this clone does not have one of them.
      if (isError(error, 'HDL_COMMAND_FAILED')) return false
      throw error
    }
  }

  /** The folder of a package in a commit, as Git names it: from the root of the workspace. */
  #pathIn(commit: string, { folder }: WorkspacePackage): string {
    return `${commit}:./${this.#inside(folder)}`
  }

  #inside(file: string): string {
    return path.relative(this.#repository.root, file).split(path.sep).join('/')
  }

  /** The hash of each tree or file; undefined where there is none. One process of Git for all of them. */
  async #hashes(names: readonly string[], wait: WaitOptions): Promise<(string | undefined)[]> {
    if (names.length === 0) return []
    const args = ['cat-file', '--batch-check=%(objectname)']
    const text = await runGit(this.#repository.root, args, wait, `${names.join('\n')}\n`)
    return text.split('\n').map((line) => (/^[0-9a-f]{40,64}$/.test(line) ? line : undefined))
  }
}
