import { lstat, realpath } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '../errors.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { isPostgresAddress, withoutPasswords } from '../store/postgres/address.ts'
import type { Durability, Journal, JournalRetry } from './journal.ts'
import { retryOf } from './write-retry.ts'

export interface OpenJournalOptions {
  /** Only reads: works while another process writes. A file that is not there is an error. */
  readonly readOnly?: boolean
  /** What an acknowledged row survives. `fsync` when absent. */
  readonly durability?: Durability
  /** How long a failed write is tried again before the journal fails. */
  readonly retry?: JournalRetry
  readonly kernel?: Kernel
}

const supported =
  'memory, sqlite:FILE, postgres://HOST/DATABASE, or the path of a file that ends in .db or .sqlite'

/** What one process has in memory cannot be read by another one. */
const readable = 'a journal that another process can read: sqlite:FILE or postgres://HOST/DATABASE'

const optionNames = {
  readOnly: 1,
  durability: 1,
  retry: 1,
  kernel: 1,
} satisfies OptionNames<OpenJournalOptions>

/**
 * Opens a journal: `memory`, `sqlite:runs.db`, a path such as `runs.db`, or `postgres://host/database`.
 *
 * Several processes may write to one file, each its own runs.
 *
 * *Cancellation*: cannot be cancelled; it waits for the disk, and for a process that is opening the same file.
 *
 * @throws `HDL_LOCKED` when a process of an earlier version writes to it; `HDL_JOURNAL_NEWER`, `HDL_JOURNAL_DAMAGED`,
 * `HDL_STORE_FAILED` when the file cannot be used; `HDL_NO_JOURNAL` when one that is only read has no tables
 * yet; `HDL_BAD_OPTION` for an address of another kind.
 * @example
 * await using journal = await openJournal('memory')
 * await journal.runs() // => []
 */
export async function openJournal(
  address: string,
  options: OpenJournalOptions = {},
): Promise<Journal> {
  checkOptions(options, optionNames)
  const { readOnly = false, durability = 'fsync', retry = {}, kernel = systemKernel } = options
  if (durability !== 'fsync' && durability !== 'process') {
    const expected = "'fsync' or 'process'"
    throw new HeddleError('HDL_BAD_OPTION', { option: 'durability', value: durability, expected })
  }
  const limits = retryOf(retry)
  if (address === 'memory') {
    if (readOnly) {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'journal',
        value: address,
        expected: readable,
      })
    }
    const { MemoryJournal } = await import('./memory/memory-journal.ts')
    return new MemoryJournal(kernel)
  }
  if (isPostgresAddress(address)) {
    const retryFor = retry.for === undefined ? undefined : limits.for
    const { openPostgresJournal } = await import('./postgres/postgres-journal.ts')
    return openPostgresJournal(address, { durability, kernel, readOnly, retryFor })
  }
  const file = await behindLink(fileOf(address))
  // Loaded only here: a program that needs no file should not pay for SQLite.
  const { openSqliteJournal } = await import('./sqlite/sqlite-journal.ts')
  return openSqliteJournal(file, { durability, kernel, readOnly, retry: limits })
}

/** Two names of one file must not get two locks. */
export async function behindLink(file: string): Promise<string> {
  try {
    return (await lstat(file)).isSymbolicLink() ? await realpath(file) : file
  } catch {
    // Missing or unreadable: opening it reports that.
    return file
  }
}

/** The file an address means. Resolved now: the program may change its folder. */
function fileOf(address: string): string {
  const [, named] = /^sqlite:(.+)$/.exec(address) ?? []
  if (named !== undefined) return path.resolve(named)
  if (/\.(db|sqlite)$/.test(address) && !/^[a-z]+:\/\//.test(address)) return path.resolve(address)
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'journal',
    value: withoutPasswords(address),
    expected: supported,
  })
}
