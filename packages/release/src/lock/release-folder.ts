import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, isError } from '@heddle/core'
import { describe } from '@heddle/core/lowlevel'
import { refuseForeignRepository } from '../git/foreign-repository.ts'
import { runGit } from '../git/run-git.ts'
import { ownFolder } from '../own-files.ts'

/** Where a release keeps the files that must outlive it. None of them is in the work tree of a repository. */
export interface ReleaseFolder {
  readonly folder: string
  /** The lock; the same name with `.json` describes its holder. */
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
  /** The changes that scripts of each release have made in the work tree. */
  readonly output: string
}

/**
 * `.git/heddle`, shared by all work trees of a repository; `.heddle` in a folder without Git.
 *
 * *Cancellation*: ends the question to Git; nothing is left behind.
 * @throws `HDL_STORE_FAILED` when there is a file of this name; `HDL_PREFLIGHT` when variables name another repository.
 */
export async function releaseFolder(root: string, signal?: AbortSignal): Promise<ReleaseFolder> {
  const git = await gitFolder(root, signal)
  const folder = path.join(git ?? root, git === undefined ? ownFolder : 'heddle')
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory() === false) {
    const cause =
      'it is not a folder, and releases keep their lock and journal in one. Move it away'
    throw new HeddleError('HDL_STORE_FAILED', { store: folder, action: 'be used', cause })
  }
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

/**
 * The same, made where it is not there yet.
 *
 * *Cancellation*: as {@link releaseFolder}.
 * @throws `HDL_STORE_FAILED`.
 */
export async function makeReleaseFolder(
  root: string,
  signal?: AbortSignal,
): Promise<ReleaseFolder> {
  const found = await releaseFolder(root, signal)
  try {
    await mkdir(found.folder, { recursive: true })
  } catch (error) {
    const details = { store: found.folder, action: 'be made', cause: describe(error) }
    throw new HeddleError('HDL_STORE_FAILED', details, { cause: error })
  }
  return found
}

async function gitFolder(root: string, signal?: AbortSignal): Promise<string | undefined> {
  const wait = signal === undefined ? {} : { signal }
  await refuseForeignRepository(root, wait)
  try {
    const found = await runGit(root, ['rev-parse', '--git-common-dir'], wait)
    return path.resolve(root, found.trimEnd())
  } catch (error) {
    // No repository, or no Git.
    if (isError(error, 'HDL_COMMAND_FAILED')) return undefined
    throw error
  }
}
