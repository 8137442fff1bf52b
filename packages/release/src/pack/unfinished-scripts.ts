/**
 * `prepack` changes files of a package, and `postpack` takes that back. A process that is killed between
 * the two leaves the tree changed; the next command runs `postpack` first.
 *
 *   note ─▶ prepack ─▶ archive ─▶ postpack ─▶ note removed
 *     └────────── killed: the next command runs postpack ─▶ note removed
 *                    └─ postpack fails: the note stays while the folder differs from its commit
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, isError } from '@heddle/core'
import { describe, writeAtomic, type WaitOptions } from '@heddle/core/lowlevel'
import { runGit } from '../git/run-git.ts'
import type { WorkspacePackage } from '../model.ts'
import { runScript } from './run-script.ts'

function noteFile(folder: string, { name }: Pick<WorkspacePackage, 'name'>): string {
  return path.join(folder, `${name.replace('/', '+')}.json`)
}

/** Durable before the first script runs. The manifest is kept: `prepack` may rewrite the one on the disk. */
export async function noteScripts(folder: string, of: WorkspacePackage): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeAtomic(noteFile(folder, of), JSON.stringify(of))
}

export async function removeNote(folder: string, of: WorkspacePackage): Promise<void> {
  await rm(noteFile(folder, of), { force: true })
}

/**
 * Runs `postpack` of packages whose `prepack` was begun by a process that is gone. Returns the folders of
 * these packages. The caller holds the lock of the release.
 *
 * *Cancellation*: the script is ended; the next call runs it again.
 * @throws `HDL_SCRIPT_UNFINISHED` when a script fails and leaves its folder changed.
 */
export async function finishScripts(folder: string, { signal }: WaitOptions): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const finished: string[] = []
  for (const name of names.filter((each) => each.endsWith('.json'))) {
    const of = JSON.parse(await readFile(path.join(folder, name), 'utf8')) as WorkspacePackage
    const options = { alone: true, ...(signal !== undefined && { signal }) }
    try {
      await runScript(of, 'postpack', options)
    } catch (error) {
      if (signal?.aborted === true) return finished
      // It may have nothing to take back: `prepack` had not begun, or the user has restored the folder.
      if (!(await isAsCommitted(of.folder))) {
        const details = {
          package: of.name,
          folder: of.folder,
          note: noteFile(folder, of),
          problem: describe(error),
        }
        throw new HeddleError('HDL_SCRIPT_UNFINISHED', details, { cause: error })
      }
    }
    await removeNote(folder, of)
    finished.push(of.folder)
  }
  return finished
}

/** Milliseconds: a folder is checked soon, or not at all. */
const patience = 60_000

/** False outside of a repository: nothing says how the folder was. */
async function isAsCommitted(folder: string): Promise<boolean> {
  try {
    const args = ['status', '--porcelain', '--untracked-files=normal', '--', '.']
    return (await runGit(folder, args, { deadline: patience })) === ''
  } catch (error) {
    if (isError(error, 'HDL_COMMAND_FAILED')) return false
    throw error
  }
}
