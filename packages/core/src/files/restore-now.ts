/* oxlint-disable node/no-sync --
 * Everything here runs when the process is ending: on `exit` and before a signal is raised again.
 * Nothing runs afterwards, so there is no loop left to block and no later to wait for.
 */
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { HeddleError } from '../errors.ts'
import { conflict, newHash, serialize, type Intent, type IntentFiles } from './intent.ts'
import { codeOf } from './replace.ts'

const hash = (bytes: Buffer): string => newHash().update(bytes).digest('hex')

function hashOf(file: string): string | undefined {
  try {
    return hash(readFileSync(file))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function putBack(files: IntentFiles, intent: Intent): void {
  const bytes = readFileSync(files.original)
  if (hash(bytes) !== intent.original) {
    const cause = `the copy in ${files.original} is damaged`
    throw new HeddleError('HDL_STORE_FAILED', { store: intent.path, action: 'be restored', cause })
  }
  // Not the intent's own temporary name, which an operation that is still under way may be using.
  const temp = `${intent.temp}.now`
  const handle = openSync(temp, 'w', 0o600)
  try {
    writeFileSync(handle, bytes)
    const made = fstatSync(handle)
    if (made.uid !== intent.uid || made.gid !== intent.gid) {
      try {
        fchownSync(handle, intent.uid, intent.gid)
      } catch (error) {
        if (codeOf(error) !== 'EPERM') throw error
      }
    }
    fchmodSync(handle, intent.mode)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(temp, intent.path)
}

function keepBoth(files: IntentFiles, intent: Intent): HeddleError {
  mkdirSync(path.dirname(files.kept), { recursive: true })
  renameSync(files.original, files.kept)
  rmSync(files.intent, { force: true })
  return conflict(files, intent)
}

/**
 * Restores a file at once. Work of the asynchronous version may still be under way in Node's
 * threads, but no step of it follows. With its temporary file gone, a rename that has not happened
 * yet cannot happen any more, and one that has happened is seen in the hash.
 *
 * `isQuiet` says that nothing is under way: then the traces are removed. Otherwise a temporary file
 * may still appear, and the entry stays, marked as restored, for the next recovery to clean up.
 *
 * @throws `HDL_RESTORE_CONFLICT`; both versions are kept.
 */
export function restoreNow(files: IntentFiles, intent: Intent, isQuiet: boolean): void {
  rmSync(intent.temp, { force: true })
  const current = hashOf(intent.path)
  if (current === intent.changed && current !== intent.original) putBack(files, intent)
  else if (current !== intent.original) throw keepBoth(files, intent)
  if (isQuiet) {
    rmSync(files.intent, { force: true })
    rmSync(files.original, { force: true })
  } else {
    const temp = `${files.intent}.tmp`
    writeFileSync(temp, serialize({ ...intent, restored: true }))
    renameSync(temp, files.intent)
  }
}
