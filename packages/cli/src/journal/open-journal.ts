import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { openJournal, type Journal, type JournalRetry } from '@heddle/core/lowlevel'

/** The default place of journals: in the current folder, hidden from git. */
const defaultFolder = '.heddle'
export const defaultJournal = `sqlite:${defaultFolder}/runs.db`

/**
 * Makes the folder of the default journal, with a file that keeps it out of git.
 *
 * *Cancellation*: none; three calls to the file system.
 */
export async function makeDefaultFolder(parent: string = process.cwd()): Promise<void> {
  const folder = path.join(parent, defaultFolder)
  await mkdir(folder, { recursive: true })
  await writeFile(path.join(folder, '.gitignore'), '*\n', { flag: 'wx' }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    },
  )
}

/**
 * Opens the journal of a run: the given one, or the default.
 *
 * *Cancellation*: none; it waits for the disk and for nothing else.
 * @throws as openJournal().
 */
export async function openRunJournal(
  address: string | undefined,
  retry: JournalRetry = {},
): Promise<Journal> {
  if (address === undefined) await makeDefaultFolder()
  return openJournal(address ?? defaultJournal, { retry })
}
