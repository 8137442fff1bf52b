/** Errors of SQLite, translated into ours. */
import { HeddleError, describe } from '../../errors.ts'

/** The primary result codes that are distinguished; extended codes have them in their low byte. */
const Code = { busy: 5, readonly: 8, io: 10, corrupt: 11, full: 13, cannotOpen: 14, notADb: 26 }

function codeOf(error: unknown): number {
  const { errcode } = error as { errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : 0
}

export function isBusy(error: unknown): boolean {
  return codeOf(error) === Code.busy
}

/** Whether there was no space for it. */
export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === Code.full
}

/** Whether the content of the file is wrong, rather than that it cannot be reached. */
export function isDamage(error: unknown): boolean {
  const code = codeOf(error)
  return code === Code.corrupt || code === Code.notADb
}

const causes = new Map<number, string>([
  [Code.busy, 'another program keeps it locked: end that program, or its transaction'],
  [Code.readonly, 'the file or its folder is read-only: make both writable'],
  [Code.io, 'the disk reports an error, or is full: check it and its free space'],
  [Code.full, 'the disk is full: free some space'],
  [
    Code.cannotOpen,
    'the file or its folder cannot be opened: check that it exists, and its permissions',
  ],
])

/** The error for a failed write or read. Ours pass unchanged. */
export function storeError(file: string, action: string, error: unknown): HeddleError {
  if (error instanceof HeddleError) return error
  const known = causes.get(codeOf(error))
  const cause = known === undefined ? describe(error) : `${known} (${describe(error)})`
  return new HeddleError('HDL_STORE_FAILED', { store: file, action, cause }, { cause: error })
}
