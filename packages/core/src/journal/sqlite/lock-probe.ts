/* oxlint-disable node/no-sync -- runs in a thread of the journal, where waiting is what it is for */
import { existsSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { lockName } from './file-names.ts'
import { isBusy } from './sqlite-error.ts'

/**
 * Whether somebody has a journal open for writing.
 *
 * The lock is tried only when the description beside it says that somebody took it: then a try can get
 * it, for a moment, only after a holder was killed.
 */
export function isHeld(file: string): boolean {
  const lock = lockName(file)
  const description = `${lock}.json`
  if (!existsSync(lock) || !existsSync(description)) return false
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(lock, { timeout: 0 })
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch (error) {
    return isBusy(error) || isHolderAlive(description)
  } finally {
    database?.close()
  }
}

/** For readers that may not lock the file. A process with the number of a killed one is taken for it. */
function isHolderAlive(description: string): boolean {
  try {
    const { pid } = JSON.parse(readFileSync(description, 'utf8')) as { pid: number }
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
