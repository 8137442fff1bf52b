/**
 * `prepack` changes files of a package, and `postpack` takes that back. A process that is killed between
 * the two leaves the tree changed; the next command runs `postpack` first.
 *
 *   note ─▶ prepack ─▶ archive ─▶ postpack ─▶ note removed
 *     └────────── killed: the next command runs postpack, whatever it says, and removes the note
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { writeAtomic, type WaitOptions } from '@heddle/core/lowlevel'
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
    // It may have nothing to take back. A tree that is still changed is refused by the preflight.
    await runScript(of, 'postpack', options).catch(() => undefined)
    if (signal?.aborted === true) return finished
    await removeNote(folder, of)
    finished.push(of.folder)
  }
  return finished
}
