import path from 'node:path'
import { isError } from '@heddle/core'
import { runGit } from '../git/run-git.ts'
import { ownFolder } from '../own-files.ts'

/** Where a release keeps what must outlive it. Nothing of it is in the work tree of a repository. */
export interface ReleaseFolder {
  readonly folder: string
  /** The lock; the same name with `.json` says who holds it. */
  readonly lock: string
  /** Every step of every release. */
  readonly journal: string
  /** Originals of manifests that are pinned in place. */
  readonly pins: string
  /** Archives of the release under way. */
  readonly packed: string
  /** The note of `heddle release version` while it writes files. */
  readonly versions: string
  /** Notes of packages whose `prepack` waits for its `postpack`. */
  readonly scripts: string
  /** What scripts of each release have changed in the work tree. */
  readonly output: string
}

/**
 * `.git/heddle`, shared by all work trees of a repository; `.heddle` in a folder without Git.
 *
 * *Cancellation*: ends the question to Git; nothing is left behind.
 */
export async function releaseFolder(root: string, signal?: AbortSignal): Promise<ReleaseFolder> {
  const git = await gitFolder(root, signal)
  const folder = path.join(git ?? root, git === undefined ? ownFolder : 'heddle')
  return {
    folder,
    lock: path.join(folder, 'release.lock'),
    journal: path.join(folder, 'releases.db'),
    pins: path.join(folder, 'pins'),
    packed: path.join(folder, 'packed'),
    versions: path.join(folder, 'version.json'),
    scripts: path.join(folder, 'scripts'),
    output: path.join(folder, 'output'),
  }
}

async function gitFolder(root: string, signal?: AbortSignal): Promise<string | undefined> {
  try {
    const wait = signal === undefined ? {} : { signal }
    const found = await runGit(root, ['rev-parse', '--git-common-dir'], wait)
    return path.resolve(root, found.trimEnd())
  } catch (error) {
    // No repository, or no Git.
    if (isError(error, 'HDL_COMMAND_FAILED')) return undefined
    throw error
  }
}
