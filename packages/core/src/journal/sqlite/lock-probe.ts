/* oxlint-disable node/no-sync -- runs in a thread of the journal, where waiting is what it is for */
import { existsSync, readFileSync } from 'node:fs'
import { DatabaseSync } from '../../sqlite/node-sqlite.ts'
import { lockName } from './file-names.ts'
import { isProcessAlive } from '../../files/process-alive.ts'
import { isBusy } from './sqlite-error.ts'

/**
 * Whether a process has a journal of version 1 or 2 open for writing: there the lock was one for the whole file.
 *
 * The lock is tried only when the description beside it says that it is taken: then a try can get
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

function isHolderAlive(description: string): boolean {
  try {
    const { pid } = JSON.parse(readFileSync(description, 'utf8')) as { pid: number }
    return isProcessAlive(pid)
  } catch {
    return false
  }
}
