/**
 * One process at a time.
 *
 *   free ──holdLock()──▶ held ──release(), or the end of the process──▶ free
 *
 * The lock is a kernel lock on a file, taken by SQLite with `BEGIN IMMEDIATE`. It cannot be stale:
 * the system frees it when its holder dies, however it dies, and never before. The JSON file beside
 * it is for people and for the text of refusals; nothing depends on it.
 *
 * Invariants, quoted by the tests:
 *  I1  At most one holder at any time, over all processes and threads of the machine.
 *  I2  Of callers at the same time exactly one gets a free lock, also one whose holder was killed.
 *  I3  Only the holder writes or removes the JSON file, and only while it holds the lock.
 *  I4  Releasing twice is harmless; releasing never touches the lock of another holder.
 *
 * Why not a lock file with pid and time: between seeing that it is stale and replacing it another
 * process can do the same (two holders in 12 of 100 contests with a well-known package); a living
 * holder can look stale (a pause, a long run); and a dead one can look alive (a reused pid).
 * Why `IMMEDIATE`: it needs one lock that only one process can have. `EXCLUSIVE` needs in addition
 * that no process reads, so that two callers at the same time can refuse each other and neither wins.
 * Why on the loop: 0.1 to 0.2 ms, once per run, without waiting (docs/decisions/0033).
 *
 * Known limits: the lock file must never be deleted (a second one of the same name is another
 * lock), and the holding process must not open and close it itself (POSIX drops the lock then).
 * Network file systems without locks are refused with an error; machines do not exclude each other.
 */
import { readFile, realpath, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from '../sqlite/node-sqlite.ts'
import { HeddleError } from '../errors.ts'
import { checkName, checkOptions, type OptionNames } from '../kernel/check.ts'
import { isoTime } from '../kernel/iso-time.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { writeAtomic } from './atomic-write.ts'
import { isProcessAlive } from './process-alive.ts'
import { fileError } from './replace.ts'
import { makeFolder } from './make-folder.ts'

/** The holder of a lock, as written beside it. */
export interface LockHolder {
  readonly pid: number
  readonly hostname: string
  readonly user: string
  /** When the lock was taken: `2026-01-31T10:15:00.000Z`. */
  readonly startedAt: string
  readonly command: string
}

export interface HoldLockOptions {
  /** What the holder does; shown to users who are refused: `heddle release publish`. */
  readonly command: string
  readonly kernel?: Kernel
}

/** A lock that is held. It is released with `await using`, by release(), or by the end of the process. */
export interface HeldLock extends AsyncDisposable {
  /** The lock file. The holder is described in the file of the same name with `.json`. */
  readonly path: string
  readonly holder: LockHolder
  /**
   * Frees the lock. Calling it again is harmless.
   *
   * *Cancellation*: cannot be cancelled; it does not wait.
   * *Fairness*: the next call gets it; callers are not queued.
   */
  release(): Promise<void>
}

/** Locks that this thread holds. It also keeps the databases from being collected, which would close them. */
const own = new Map<string, { holder: LockHolder; database: DatabaseSync }>()

const sqliteBusy = 5

function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode
  return typeof code === 'number' && (code & 0xff) === sqliteBusy
}

/** No space on the disk, or none in the quota of the user. */
function isDiskFull(error: unknown): boolean {
  const { code } = (error as { cause?: { code?: unknown } }).cause ?? {}
  return code === 'ENOSPC' || code === 'EDQUOT'
}

function userName(): string {
  try {
    return os.userInfo().username
  } catch {
    // A container can run as a user that has no entry.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

function describeHolder(holder: LockHolder): string {
  const who = holder.pid === process.pid ? 'this process, ' : ''
  return `${who}pid ${holder.pid} on ${holder.hostname} (user ${holder.user}, since ${holder.startedAt}): ${holder.command}`
}

/** The holder by its file, which may be damaged, or still the one of a holder that was killed. */
async function readHolder(file: string): Promise<string> {
  let found: Partial<LockHolder> | null
  try {
    found = JSON.parse(await readFile(file, 'utf8')) as Partial<LockHolder> | null
  } catch {
    return 'another process'
  }
  if (typeof found !== 'object' || typeof found?.pid !== 'number') return 'another process'
  const { pid, hostname = '?', user = '?', startedAt = '?', command = '?' } = found
  if (hostname === os.hostname() && !isProcessAlive(pid)) return 'a process that has just taken it'
  return describeHolder({ pid, hostname, user, startedAt, command })
}

/**
 * Takes a lock without describing its holder: it is held until the database is closed. Throws what SQLite says
 * when another has it.
 */
export function takeLock(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    // heddle-ignore B110 -- 0.1 to 0.2 ms, once per run, without waiting: docs/decisions/0033
    // No journal file: nothing is ever written, and one left by a killed holder would be played back.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

class Held implements HeldLock {
  readonly path: string
  readonly holder: LockHolder
  readonly #key: string
  #releasing: Promise<void> | undefined

  constructor(file: string, key: string, holder: LockHolder) {
    this.path = file
    this.#key = key
    this.holder = holder
  }

  release(): Promise<void> {
    this.#releasing ??= giveBack(this.#key, `${this.path}.json`)
    return this.#releasing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }
}

async function giveBack(key: string, details: string): Promise<void> {
  try {
    // While the lock is still held: afterwards the file may belong to another holder.
    await rm(details, { force: true })
  } finally {
    own.get(key)?.database.close()
    own.delete(key)
  }
}

const optionNames = {
  command: 1,
  kernel: 1,
} satisfies OptionNames<HoldLockOptions>

/**
 * Takes an exclusive lock, or fails at once when it is held: another process, another thread,
 * or this program a second time.
 *
 * *Cancellation*: cannot be cancelled; it does not wait for the holder.
 * *Fairness*: callers are not queued; of callers at the same time exactly one gets it.
 *
 * @throws `HDL_LOCKED` naming the holder; `HDL_STORE_FAILED` when the file cannot be locked.
 * @example
 * await using lock = await holdLock('.git/heddle/release.lock', { command: 'heddle release' })
 */
export async function holdLock(file: string, options: HoldLockOptions): Promise<HeldLock> {
  checkOptions(options, optionNames)
  const { clock } = options.kernel ?? systemKernel
  // Resolved now: the program may change its folder before it releases the lock.
  const lockFile = path.resolve(file)
  const details = `${lockFile}.json`
  const holder: LockHolder = {
    pid: process.pid,
    hostname: os.hostname(),
    user: userName(),
    startedAt: isoTime(clock.wallTime()),
    command: checkName('command', options.command),
  }
  let key: string
  try {
    await makeFolder(path.dirname(lockFile))
    key = path.join(await realpath(path.dirname(lockFile)), path.basename(lockFile))
  } catch (error) {
    throw fileError(file, 'be locked', error)
  }

  // No await between the check and the lock: two callers in this thread cannot both pass.
  const ours = own.get(key)
  if (ours !== undefined) {
    throw new HeddleError('HDL_LOCKED', { path: file, holder: describeHolder(ours.holder) })
  }
  try {
    own.set(key, { holder, database: takeLock(key) })
  } catch (error) {
    if (!isBusy(error)) throw fileError(file, 'be locked', error)
    throw new HeddleError('HDL_LOCKED', { path: file, holder: await readHolder(details) })
  }

  try {
    await writeAtomic(details, `${JSON.stringify(holder, undefined, 2)}\n`, {
      kernel: options.kernel ?? systemKernel,
    })
  } catch (error) {
    if (!isDiskFull(error)) {
      await giveBack(key, details).catch(() => undefined)
      throw error
    }
    // What is done under the lock may be what frees the disk. The file of an earlier holder names the wrong one.
    await rm(details, { force: true }).catch(() => undefined)
    const text = `The disk is full: ${details}, which names the holder of the lock, was not written.`
    process.emitWarning(text, { type: 'HeddleWarning' })
  }
  return new Held(lockFile, key, holder)
}
