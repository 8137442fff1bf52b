/* oxlint-disable node/no-sync -- runs in a thread of the journal, where waiting is what it is for */
/**
 * Proves that a writer of a journal is alive: one lock for each session, in the folder `<file>.writers`.
 *
 *   taken ──release(), or the end of the process──▶ free, and removed by the next process that finds it
 *
 *  K1  A session is alive exactly while its lock is held. The system frees it when the process dies, however it
 *      dies, and not before: a process that was stopped keeps it (files/exclusive-lock.ts, docs/decisions/0033).
 *  K2  A name is used once. So a lock that can be taken belongs to a dead session for ever.
 *  K3  When the folder is deleted under a living writer, it looks dead. Its runs can then be taken over, and its
 *      rows are refused in the transaction that would write it (journal-store.ts).
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from '../../sqlite/node-sqlite.ts'
import { takeLock } from '../../files/exclusive-lock.ts'
import { isProcessAlive } from '../../files/process-alive.ts'
import { writersFolder } from './file-names.ts'
import { isBusy } from './sqlite-error.ts'
import { makeFolderNow } from '../../files/make-folder.ts'

function lockPath(file: string, name: string): string {
  return join(writersFolder(file), `${name}.lock`)
}

export class SessionLock {
  readonly #path: string
  readonly #database: DatabaseSync

  constructor(file: string, name: string) {
    makeFolderNow(writersFolder(file))
    this.#path = lockPath(file, name)
    this.#database = takeLock(this.#path)
  }

  release(): void {
    // Removed while it is held: a reader that finds it free must not find it at all.
    rmSync(this.#path, { force: true })
    this.#database.close()
  }
}

/** A session as its row describes it. */
export interface SessionRow {
  readonly pid: number
  /** The name of its lock. */
  readonly lock: string | null
}

/** Whether the process that opened the session is alive. */
export function isSessionAlive(file: string, { lock, pid }: SessionRow): boolean {
  if (lock === null) return false
  const path = lockPath(file, lock)
  if (!existsSync(path)) return false
  let database: DatabaseSync | undefined
  try {
    // Never made again: a lock that is gone belongs to a dead session.
    database = new DatabaseSync(`${pathToFileURL(path).href}?mode=rw`, { timeout: 0 })
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch (error) {
    return isBusy(error) || (existsSync(path) && isProcessAlive(pid))
  } finally {
    database?.close()
  }
}

/** Removes the files of a dead session. */
export function removeSessionLock(file: string, { lock }: SessionRow): void {
  if (lock !== null) rmSync(lockPath(file, lock), { force: true })
}
