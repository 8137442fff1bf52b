/**
 * The write side of a journal's file in this process: one thread, one outbox, one session, shared by all journals
 * that are open on the file.
 *
 *   writing ──a write failed──▶ stalled ──tried again, and succeeded──▶ writing
 *                                 └──tried for too long, or it cannot succeed──▶ failed
 *
 *  W1  While it is stalled nothing is acknowledged. Added rows stay in order (writer-role.ts, R1).
 *  W2  Writers are notified once when trouble begins, once when it is over, and once when it is final.
 *  W3  A writer whose run was taken by another process gets `HDL_RUN_LOST`, and writes nothing more; the others
 *      continue.
 *  W4  Messages are read at most `mailTime` after they were posted (mailbox.ts). An open file does not keep the process
 *      alive.
 *  W5  Rows of all users are one queue: it is tried again as often as its most eager user asks, and for as long as its most
 *      patient one does.
 */
import type { SideWriter } from '../run-writer.ts'
import { type HeddleError } from '../../errors.ts'
import { holdLock, type HeldLock } from '../../files/exclusive-lock.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemKernel, type Kernel } from '../../kernel/kernel.ts'
import { pauseFor } from '../../kernel/wait-for.ts'
import { threadFile } from '../../kernel/thread-file.ts'
import { HostLink } from '../../sqlite/host-link.ts'
import type { StoreChange, StoreQuestion } from '../../store/sqlite/store-messages.ts'
import { openScope, type Scope } from '../../sync/scope.ts'
import { RenewedShared } from '../../sync/renewed-shared.ts'
import type { Lease } from '../../sync/shared.ts'
import { decodeError, encodeError } from '../../threads/error-wire.ts'
import { commandLine } from '../command-line.ts'
import { isOfValue } from '../encode.ts'
import type { Durability, JournalRetry } from '../journal.ts'
import { Mailbox } from '../mailbox.ts'
import { lockName } from './file-names.ts'
import type {
  BatchAnswer,
  Opened,
  Stalled,
  WriterAnswer,
  WriterAnswers,
  WriterChange,
  WriterData,
  WriterQuestion,
} from './journal-messages.ts'
import type { BatchWire } from '../batch.ts'
import { Outbox } from '../outbox.ts'
import { storeError } from './sqlite-error.ts'

/** The number of the store among the roles of the thread: see writer-role.ts. */
const storeRole = 1

/** Milliseconds between two reads of messages. */
const mailTime = 900

/** How long to wait for another process that is opening the file, and between two tries. */
const openingLimit = 10_000
const openingStep = 20

export interface WriteSideOptions {
  readonly file: string
  readonly durability: Durability
  readonly kernel: Kernel
}

export class WriteSide {
  readonly outbox: Outbox
  /** How long each user has its writes tried again (W5). */
  readonly retries = new Set<Required<JournalRetry>>()
  readonly #file: string
  readonly #clock: Clock
  readonly #link: HostLink
  readonly #writers = new Map<number, SideWriter>()
  /** What is stalled: the causes, each with the error of its last try. */
  readonly #troubles = new Map<object, HeddleError>()
  /** Changes that the thread keeps, in the order in which it keeps them. */
  #stalled: PromiseWithResolvers<WriterAnswer>[] = []
  #stalledSince = 0
  readonly #mailbox: Mailbox
  /** Its own background work: trying again, giving up. */
  readonly #scope: Scope
  #session = 0

  private constructor(options: WriteSideOptions) {
    const { file, durability, kernel } = options
    this.#file = file
    this.#clock = kernel.clock
    this.#scope = openScope({ name: `the journal ${file}`, kernel })
    this.outbox = new Outbox({ clock: kernel.clock, send: (batch) => this.#send(batch) })
    this.#mailbox = new Mailbox({
      address: file,
      clock: kernel.clock,
      readEvery: mailTime,
      read: async (wanted) =>
        this.outbox.failure === undefined ? this.ask({ type: 'mail', wanted }) : [],
    })
    const openedAt = kernel.clock.wallTime()
    const lock = nextLockName(openedAt)
    const data: WriterData = { file, durability, pid: process.pid, openedAt, lock }
    this.#link = new HostLink({
      entry: threadFile('journalWriter'),
      name: 'heddle-journal',
      data: { ...data, role: 'journalWriter' },
      store: file,
      what: `The journal ${file}`,
      clock: kernel.clock,
      closing: () => kernel.clock.wallTime(),
      onEnd: (error) => this.fail(error),
    })
  }

  static async open(options: WriteSideOptions): Promise<WriteSide> {
    const opening = await lockForOpening(options)
    try {
      const side = new WriteSide(options)
      try {
        const { session } = (await side.#link.open()) as Opened
        side.#session = session
        return side
      } catch (error) {
        await side.#link.kill()
        throw error
      }
    } finally {
      await opening.release()
    }
  }

  /** W5. Milliseconds. */
  get #retryFor(): number {
    return Math.max(0, ...[...this.retries].map((retry) => retry.for))
  }

  get #retryEvery(): number {
    return Math.min(...[...this.retries].map(({ every }) => every))
  }

  get session(): number {
    return this.#session
  }

  /** From here on the writer is notified of events of its run. */
  addWriter(run: number, writer: SideWriter): void {
    this.#writers.set(run, writer)
    this.#mailbox.add(run, writer)
  }

  removeWriter(run: number): void {
    this.#writers.delete(run)
    this.#mailbox.remove(run)
  }

  async ask<Q extends WriterQuestion>(question: Q): Promise<WriterAnswers[Q['type']]> {
    return (await this.#link.ask(question)) as WriterAnswers[Q['type']]
  }

  /** Asks the store in the same file (store/sqlite/). */
  askStore(question: StoreQuestion): Promise<unknown> {
    return this.#link.ask(question, storeRole)
  }

  changeStore(change: StoreChange): Promise<unknown> {
    return this.#link.change(change, undefined, storeRole)
  }

  /** Resolves when the change is durable, also one that is tried again first. */
  async change(change: WriterChange, bytes?: Uint8Array<ArrayBuffer>): Promise<WriterAnswer> {
    const { failure } = this.outbox
    if (failure !== undefined) throw failure
    let answer: WriterAnswer | Stalled
    try {
      answer = (await this.#link.change(change, bytes)) as WriterAnswer | Stalled
    } catch (error) {
      const refused = storeError(this.#file, 'be written', error)
      this.fail(refused)
      throw refused
    }
    return isStalled(answer) ? this.#waitForRetry(answer) : answer
  }

  /**
   * Does something that may fail for a while, such as writing a file: again and again, as long as it may (W1).
   *
   * *Cancellation*: none; it ends when the limit of trying is reached.
   */
  async persist<T>(work: () => Promise<T>): Promise<T> {
    const cause = {}
    const since = this.#clock.now()
    for (;;) {
      try {
        const done = await work()
        this.#clearTrouble(cause)
        return done
      } catch (error) {
        const failure = error as HeddleError
        if (isOfValue(failure)) throw error
        const isOver = this.#clock.now() - since >= this.#retryFor
        if (failure.code !== 'HDL_STORE_FAILED' || isOver) {
          this.fail(storeError(this.#file, 'be written', error))
          throw error
        }
        this.#addTrouble(cause, failure)
      }
      await pauseFor(this.#retryEvery, this.#clock)
      if (this.outbox.failure !== undefined) throw this.outbox.failure
    }
  }

  /** A message may have been posted to a run of this process. */
  wake(): void {
    this.#mailbox.wake()
  }

  /** Nothing is written any more. The first failure stays. */
  fail(error: HeddleError): void {
    if (this.outbox.failure !== undefined) return
    this.outbox.fail(error)
    const stalled = this.#stalled
    this.#stalled = []
    for (const { reject } of stalled) reject(error)
    for (const writer of this.#writers.values()) writer.onTrouble({ error, isFinal: true })
  }

  async stop(): Promise<void> {
    const lastRead = this.#mailbox.stop()
    // Work under way fails with the link, and starts nothing any more.
    this.#scope.cancel('the journal is stopped', { source: 'shutdown' })
    await this.#link.stop()
    await Promise.all([this.#scope.join(), lastRead])
  }

  #send(batch: BatchWire): void {
    this.change(batch, batch.bodies).then(
      (answer) => this.#onDurable(batch.batch, answer as BatchAnswer),
      // Every caller that waits for it has been notified.
      () => undefined,
    )
  }

  #onDurable(batch: number, answer: BatchAnswer): void {
    if (typeof answer === 'number') {
      this.outbox.onDurable(batch, answer)
      return
    }
    // Before the promise of the batch is settled, so that its caller sees it.
    for (const run of answer.lost) this.#writers.get(run)?.onLost()
    this.outbox.onDurable(batch, answer.commit)
  }

  #waitForRetry({ stalled }: Stalled): Promise<WriterAnswer> {
    const later = Promise.withResolvers<WriterAnswer>()
    this.#stalled.push(later)
    if (this.#stalled.length === 1) {
      this.#stalledSince = this.#clock.now()
      this.#retryLater(decodeError(stalled) as HeddleError)
    }
    return later.promise
  }

  #retryLater(error: HeddleError): void {
    if (this.#clock.now() - this.#stalledSince >= this.#retryFor) {
      this.#giveUp(error)
      return
    }
    this.#addTrouble(this, error)
    this.#clock.setTimer(this.#retryEvery, () => {
      this.#scope.launch(() => this.#tryAgain())
    })
  }

  async #tryAgain(): Promise<void> {
    if (this.outbox.failure !== undefined) return
    try {
      const answer = await this.ask({ type: 'retry' })
      if (isStalled(answer)) {
        this.#retryLater(decodeError(answer.stalled) as HeddleError)
        return
      }
      const done = this.#stalled.splice(0, answer.answers.length)
      for (const [index, { resolve }] of done.entries()) resolve(answer.answers[index]!)
      this.#clearTrouble(this)
    } catch (error) {
      this.#giveUp(storeError(this.#file, 'be written', error))
    }
  }

  #giveUp(error: HeddleError): void {
    this.fail(error)
    this.#scope.launch(() => this.#discardKept(error))
  }

  /** Rows that the thread could not write are no longer awaited. */
  async #discardKept(failure: HeddleError): Promise<void> {
    try {
      await this.ask({ type: 'give up', error: encodeError(failure) })
    } catch {
      // The thread has ended, and its kept rows with it.
    }
  }

  #addTrouble(cause: object, error: HeddleError): void {
    const isFirst = this.#troubles.size === 0
    this.#troubles.set(cause, error)
    if (!isFirst) return
    for (const writer of this.#writers.values()) writer.onTrouble({ error, isFinal: false })
  }

  #clearTrouble(cause: object): void {
    if (!this.#troubles.delete(cause) || this.#troubles.size > 0) return
    for (const writer of this.#writers.values()) writer.onTrouble(undefined)
  }
}

function isStalled(answer: unknown): answer is Stalled {
  return typeof answer === 'object' && answer !== null && 'stalled' in answer
}

let lastLock = 0

/** A name that no other session has had: of this process, of an earlier one with its number, or on another machine. */
function nextLockName(now: number): string {
  const chance = Math.floor(systemKernel.random.next() * 36 ** 4).toString(36)
  return `${process.pid}-${now.toString(36)}-${(++lastLock).toString(36)}-${chance}`
}

/** One process at a time opens a file: it makes tables, migrates, and looks for what killed ones have left. */
async function lockForOpening({ file, kernel }: WriteSideOptions): Promise<HeldLock> {
  const command = commandLine()
  const { clock } = kernel
  for (let waited = 0; ; waited += openingStep) {
    try {
      return await holdLock(lockName(file), { command, kernel })
    } catch (error) {
      if ((error as HeddleError).code !== 'HDL_LOCKED' || waited >= openingLimit) throw error
    }
    await pauseFor(openingStep, clock)
  }
}

/** Keyed by kernel: two clocks cannot time one file. */
const sides = new WeakMap<Kernel, RenewedShared<WriteSide>>()

function sidesOf(kernel: Kernel): RenewedShared<WriteSide> {
  let shared = sides.get(kernel)
  if (shared === undefined) {
    shared = new RenewedShared<WriteSide>({
      open: (key) => WriteSide.open({ ...placeOf(key), kernel }),
      close: (side) => side.stop(),
      isFailed: ({ outbox }) => outbox.failure !== undefined,
      closeDeadline: Infinity,
      // The rows are durable: work that fails at the end is repeated at the next opening.
      onCloseError: () => undefined,
      kernel,
    })
    sides.set(kernel, shared)
  }
  return shared
}

function keyOf({ file, durability }: WriteSideOptions): string {
  return `${durability} ${file}`
}

function placeOf(key: string): Omit<WriteSideOptions, 'kernel'> {
  const end = key.indexOf(' ')
  return { durability: key.slice(0, end) as Durability, file: key.slice(end + 1) }
}

/** What one journal or store holds of the write side of its file. */
export class WriteSideShare {
  readonly side: WriteSide
  readonly #lease: Lease<string, WriteSide>
  readonly #retry: Required<JournalRetry> | undefined

  constructor(lease: Lease<string, WriteSide>, retry: Required<JournalRetry> | undefined) {
    this.side = lease.value
    this.#lease = lease
    this.#retry = retry
    if (retry !== undefined) this.side.retries.add(retry)
  }

  /**
   * Gives it back; the last user waits until the file is closed. Work that fails then is repeated at the next opening.
   *
   * *Cancellation*: none; it waits for the disk.
   */
  async release(): Promise<void> {
    if (this.#retry !== undefined) this.side.retries.delete(this.#retry)
    await this.#lease[Symbol.asyncDispose]().catch(() => undefined)
  }
}

/**
 * The write side of a file, shared by all its users in this process with the same durability. Without `retry` it is used
 * for changes of the store only, which are not tried again here.
 *
 * *Cancellation*: none; it waits for the disk, and up to 10 s for a process that is opening the file.
 * @throws `HDL_LOCKED` when a process of an earlier version writes to it; what makes the file unusable.
 */
export async function useWriteSide(
  options: WriteSideOptions,
  retry?: Required<JournalRetry>,
): Promise<WriteSideShare> {
  const lease = await sidesOf(options.kernel).use(keyOf(options))
  return new WriteSideShare(lease, retry && { ...retry })
}
