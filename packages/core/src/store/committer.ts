/**
 * Group commit: many writes, one transaction after the other.
 *
 * A write:
 *
 *     waiting ──▶ sent ──▶ written | refused
 *        ▲          │
 *        │          └─ the answer was lost ──▶ unknown ──fence──▶ written | refused
 *        └────────────── it was not written ──────────────────────┘
 *
 * There is no timer. A write that finds nothing under way is sent when the code that runs now has
 * finished; while a commit is under way the next group gathers.
 *
 * Invariants, quoted by the tests (C2 to C4 of docs/design/store.md):
 *  G1  A write is reported as written only after the database has said so, in an answer to its commit or in the
 *      answer to the fence of its session.
 *  G2  One commit is under way at a time, so the last number of a session decides about all of them.
 *  G3  After an answer was lost nothing is sent before the old session is fenced.
 *  G4  The writes of one shard are written in the order of the calls.
 *  G5  Every write is answered: written, refused, or failed when the database did not answer for `giveUpAfter`.
 *  G6  A commit that fails although the database answers is sent at most `mostTries` times, with growing pauses.
 *  G7  A row that the database does not take fails its own write, with the database's reason. The other writes of its
 *      commit are sent again by halves, until it is alone. When nothing at all is written, the reason is not a row: the
 *      rest fails with it, and the writes behind them are sent.
 */
import { describe, HeddleError, isError } from '../errors.ts'
import { checkCount, checkDuration } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Kernel } from '../kernel/kernel.ts'
import {
  Life,
  type RunningService,
  type ServiceState,
  type StopOptions,
} from '../kernel/service.ts'
import { waitFor } from '../kernel/wait-for.ts'
import { WaiterList } from '../kernel/waiters.ts'
import type {
  CommitAnswer,
  Database,
  FenceAnswer,
  Grant,
  Refusal,
  ServerId,
  SessionId,
  ShardBatch,
} from './database.ts'

export interface CommitterOptions<R> {
  readonly server: ServerId
  readonly database: Pick<Database<R>, 'openSession' | 'commit' | 'fence'>
  readonly kernel: Kernel
  /** Rows in one commit. Default 256: larger ones stall at checkpoints of PostgreSQL. */
  readonly mostRows?: number
  /** Milliseconds to wait for one answer of the database. Default 5,000. */
  readonly answerWithin?: number
  /** Milliseconds without an answer after which writes fail. Default 60,000. */
  readonly giveUpAfter?: number
  /** A batch was refused because its epoch is not current. */
  readonly onRefused: (grant: Grant) => void
}

export interface CommitterStats {
  readonly state: ServiceState
  /** Rows that were submitted and not answered. */
  readonly pending: number
  readonly commits: number
  readonly rows: number
  readonly refused: number
  /** Rows that the database has not taken for as long as they were tried (G5, G6). */
  readonly failed: number
  /** Answers that were lost and decided by a fence. */
  readonly unknown: number
}

interface Write<R> {
  readonly batch: ShardBatch<R>
  readonly resolve: () => void
  readonly reject: (error: HeddleError) => void
}

interface Session {
  readonly id: SessionId
  number: number
}

/** Milliseconds; doubled with each failure. */
const firstPause = 20
const longestPause = 1_000

/** G6: about two seconds of pauses. */
const mostTries = 8

/** G7: tries of a part of a commit that has failed, and writes that fail alone before the rest is not tried any more. */
const triesOfPart = 2
const mostAlone = 4

/** The state of a commit that is sent in parts. */
interface Sending {
  readonly giveUpAt: number
  hasWritten: boolean
  /** Reasons for which writes have failed alone, where these need not be their rows. */
  readonly alone: unknown[]
}

/** A commit that was not written, and never will be. */
interface Rejected {
  readonly rejected: unknown
}

export class Committer<R> implements RunningService {
  readonly #options: CommitterOptions<R>
  readonly #clock: Clock
  readonly #mostRows: number
  readonly #answerWithin: number
  readonly #giveUpAfter: number
  readonly #waiting: Write<R>[] = []
  #session: Session | undefined
  /** G3: a session with a commit whose answer was lost, until it is fenced. */
  #unfenced: Session | undefined
  #sessions = 0
  #busy = false
  /** Sends groups until none is waiting. */
  #work = Promise.resolve()
  /** Aborts when the deadline of stop() has passed. */
  #cut = new AbortController()
  #life: Life
  #pending = 0
  #commits = 0
  #rows = 0
  #refused = 0
  #failed = 0
  #unknown = 0

  constructor(options: CommitterOptions<R>) {
    this.#options = options
    this.#clock = options.kernel.clock
    this.#mostRows = checkCount('mostRows', options.mostRows ?? 256)
    this.#answerWithin = checkDuration('answerWithin', options.answerWithin ?? 5_000)
    this.#giveUpAfter = checkDuration('giveUpAfter', options.giveUpAfter ?? 60_000)
    this.#life = this.#newLife()
  }

  #newLife(): Life {
    return new Life({
      what: 'The committer',
      clock: this.#clock,
      deadline: this.#answerWithin,
      stop: (enough) => this.#end(enough),
    })
  }

  /** Takes writes again after stop(): for an owner that is started again. A session with an unknown commit is fenced first. */
  reopen(): void {
    if (this.#life.state !== 'stopped') return
    this.#cut = new AbortController()
    this.#life = this.#newLife()
  }

  /**
   * Writes rows of one shard. Resolves when they are durable.
   *
   * *Cancellation*: none; a submitted write is answered (G5).
   * *Fairness*: in the order of the calls.
   * @throws `HDL_OWNERSHIP_LOST` when the epoch is not current, `HDL_ROW_REFUSED` when the database cannot hold a row,
   * `HDL_STORE_FAILED` when it does not answer, `HDL_CLOSED` after stop().
   */
  write({ shard, epoch }: Grant, rows: readonly R[]): Promise<void> {
    if (!this.#life.isRunning) return Promise.reject(this.#life.closed())
    return new Promise((resolve, reject) => {
      this.#pending += rows.length
      this.#waiting.push({ batch: { shard, epoch, rows }, resolve, reject })
      if (this.#busy) return
      this.#busy = true
      this.#work = sent.then(() => this.#sendAll())
    })
  }

  /**
   * Fails the writes that are waiting, and all later ones. A commit that is under way has until the deadline; whether
   * it was written is unknown if it has no answer by then (`HDL_STORE_FAILED`).
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#fail(this.#waiting.splice(0), this.#life.closed())
    const cut = (): void => this.#cut.abort(enough.reason)
    if (enough.aborted) cut()
    else enough.addEventListener('abort', cut, { once: true })
    await this.#work
    enough.removeEventListener('abort', cut)
  }

  stats(): CommitterStats {
    return {
      state: this.#life.state,
      pending: this.#pending,
      commits: this.#commits,
      rows: this.#rows,
      refused: this.#refused,
      failed: this.#failed,
      unknown: this.#unknown,
    }
  }

  /** Never rejects: errors are the answers of its writes. */
  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const giveUpAt = this.#clock.now() + this.#giveUpAfter
      await this.#send(this.#takeGroup(), mostTries, { giveUpAt, hasWritten: false, alone: [] })
    }
    this.#busy = false
  }

  /** G7. Halves follow each other, so that the order of a shard stays (G4). */
  async #send(group: readonly Write<R>[], tries: number, sending: Sending): Promise<void> {
    const { hasWritten, alone } = sending
    if (!hasWritten && alone.length >= mostAlone) return this.#fail(group, alone[0])
    let answer: CommitAnswer | Rejected
    try {
      const batches = group.map(({ batch }) => batch)
      answer = await this.#commit(batches, tries, sending.giveUpAt)
    } catch (error) {
      return this.#fail(group, error)
    }
    if (!('rejected' in answer)) {
      sending.hasWritten = true
      return this.#settle(group, answer)
    }
    const { rejected } = answer
    if (group.length === 1) {
      if (!isOfRows(rejected)) alone.push(rejected)
      return this.#fail(group, rejected)
    }
    const middle = group.length >> 1
    await this.#send(group.slice(0, middle), triesOfPart, sending)
    await this.#send(group.slice(middle), triesOfPart, sending)
  }

  #takeGroup(): Write<R>[] {
    let rows = 0
    let count = 0
    for (const { batch } of this.#waiting) {
      // A batch that is larger than a commit goes alone: it cannot be cut.
      if (count > 0 && rows + batch.rows.length > this.#mostRows) break
      rows += batch.rows.length
      count++
    }
    return this.#waiting.splice(0, count)
  }

  /** Sends the batches until their outcome is known. */
  async #commit(
    batches: readonly ShardBatch<R>[],
    tries: number,
    giveUpAt: number,
  ): Promise<CommitAnswer | Rejected> {
    for (let failures = 0; ; failures++) {
      const session = await this.#open(giveUpAt)
      const number = ++session.number
      try {
        return await this.#ask(this.#options.database.commit(session.id, number, batches))
      } catch (error) {
        if (isGone(error)) throw error
        if (isOfRows(error)) {
          // The commit was not written, so its number is used again.
          session.number--
          return { rejected: error }
        }
        // Written or not: only the fence of the session decides (G3).
        this.#unknown++
        const answer = await this.#decide(session, number, giveUpAt)
        if (answer !== undefined) return answer
        if (failures + 1 === tries) return { rejected: error }
        this.#checkPatience(giveUpAt, error)
        await this.#backOff(failures)
      }
    }
  }

  /** The answer of a commit whose own answer was lost; undefined when it was not written and never will be. */
  async #decide(
    session: Session,
    number: number,
    giveUpAt: number,
  ): Promise<CommitAnswer | undefined> {
    this.#session = undefined
    this.#unfenced = session
    const { last, answer } = await this.#fence(session, giveUpAt)
    return last >= number ? answer : undefined
  }

  async #fence(session: Session, giveUpAt: number): Promise<FenceAnswer> {
    const answer = await this.#insist(giveUpAt, () => this.#options.database.fence(session.id))
    this.#unfenced = undefined
    return answer
  }

  async #open(giveUpAt: number): Promise<Session> {
    if (this.#session !== undefined) return this.#session
    if (this.#unfenced !== undefined) await this.#fence(this.#unfenced, giveUpAt)
    const id = await this.#insist(giveUpAt, async () => {
      const fresh = `${this.#options.server}/${++this.#sessions}`
      await this.#options.database.openSession(this.#options.server, fresh)
      return fresh
    })
    return (this.#session = { id, number: 0 })
  }

  /** Asks until there is an answer, with pauses. */
  async #insist<T>(giveUpAt: number, ask: () => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures++) {
      try {
        return await this.#ask(ask())
      } catch (error) {
        if (isGone(error)) throw error
        this.#checkPatience(giveUpAt, error)
        await this.#backOff(failures)
      }
    }
  }

  /** Throws the error when it is time to give up. */
  #checkPatience(giveUpAt: number, error: unknown): void {
    if (!this.#life.isRunning || this.#clock.now() >= giveUpAt) throw error
  }

  async #backOff(failures: number): Promise<void> {
    const longest = Math.min(firstPause * 2 ** failures, longestPause)
    await this.#pause(this.#options.kernel.random.next() * longest)
  }

  #ask<T>(call: Promise<T>): Promise<T> {
    const { signal } = this.#cut
    const deadline = this.#answerWithin
    return waitFor(call, 'A call to the database', this.#clock, { deadline, signal })
  }

  async #pause(deadline: number): Promise<void> {
    const { signal } = this.#cut
    // Ends by its deadline, or by the one of stop().
    await new WaiterList<void>(this.#clock)
      .wait('A pause', { deadline, signal })
      .catch(() => undefined)
  }

  #settle(group: readonly Write<R>[], answer: CommitAnswer): void {
    this.#commits++
    for (const [index, write] of group.entries()) this.#answer(write, answer[index])
  }

  #answer({ batch, resolve, reject }: Write<R>, refusal: Refusal): void {
    this.#pending -= batch.rows.length
    if (refusal === undefined) {
      this.#rows += batch.rows.length
      return resolve()
    }
    this.#refused++
    const { shard, epoch } = batch
    reject(new HeddleError('HDL_OWNERSHIP_LOST', { shard, epoch }))
    this.#options.onRefused({ shard, epoch })
  }

  #fail(group: readonly Write<R>[], cause: unknown): void {
    const isOurs = ['HDL_CLOSED', 'HDL_BAD_OPTION', 'HDL_ROW_REFUSED', 'HDL_STORE_FAILED'] as const
    const error = isOurs.some((code) => isError(cause, code))
      ? (cause as HeddleError)
      : failed(cause)
    const isOfStore = isError(error, 'HDL_STORE_FAILED')
    for (const { batch, reject } of group) {
      this.#pending -= batch.rows.length
      if (isOfStore) this.#failed += batch.rows.length
      reject(error)
    }
  }
}

/** Settled: its reactions run when the current code has finished. */
const sent = Promise.resolve()

/** The database cannot hold the rows: none of them was written, and sending them again is useless. */
function isOfRows(error: unknown): boolean {
  return isError(error, 'HDL_BAD_OPTION') || isError(error, 'HDL_ROW_REFUSED')
}

/** The file was deleted or replaced: a fence read from it means nothing. */
function isGone(error: unknown): boolean {
  return isError(error, 'HDL_JOURNAL_GONE')
}

function failed(cause: unknown): HeddleError {
  const why = isError(cause, 'HDL_TIMEOUT') ? 'it does not answer' : describe(cause)
  const store = 'The database'
  return new HeddleError('HDL_STORE_FAILED', { store, action: 'be written', cause: why }, { cause })
}
