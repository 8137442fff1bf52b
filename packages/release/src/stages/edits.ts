/**
 * Files of a package that were edited while the release runs: its archive would not be the commit's.
 *
 * Git is asked only about a folder in which a tracked file was touched: a process of Git for each of 150 packages
 * would take longer than their archives.
 */
import { lstat } from 'node:fs/promises'
import path from 'node:path'
import type { WaitOptions } from '@heddle/core/lowlevel'
import type { Repository } from '../git/repository.ts'
import { mapLimited, readsAtOnce } from '../workspace/limited.ts'

/** Milliseconds by which times of files may be behind the clock. */
const slack = 50

export class Edits {
  readonly #repository: Repository
  readonly #since: number
  readonly #tracked: readonly string[]

  private constructor(repository: Repository, since: number, tracked: readonly string[]) {
    this.#repository = repository
    this.#since = since
    this.#tracked = tracked
  }

  /** `since`: when the tree was known to be the commit, on the wall clock. */
  static async watch(
    repository: Repository,
    since: number,
    wait: WaitOptions = {},
  ): Promise<Edits> {
    return new Edits(repository, since - slack, await repository.trackedFiles(wait))
  }

  /** Tracked files below a folder that differ from the commit, as Git prints them. */
  async in(folder: string, wait: WaitOptions = {}): Promise<string[]> {
    const below = `${folder}${path.sep}`
    const files = this.#tracked.filter((file) => file.startsWith(below))
    const touched = await mapLimited(files, readsAtOnce, (file) => this.#isTouched(file))
    if (!touched.includes(true)) return []
    const changes = await this.#repository.changesOf([folder], wait)
    return changes.filter((line) => !line.startsWith('??'))
  }

  async #isTouched(file: string): Promise<boolean> {
    try {
      const { ctimeMs } = await lstat(file)
      return ctimeMs >= this.#since
    } catch {
      return true
    }
  }
}
