/**
 * Rows on their way from the loop to the thread that writes.
 *
 *   add() ──▶ gathering ──(end of the turn, or full)──▶ sealed ──(room in the thread)──▶ sent ──▶ durable
 *                 └───────────────┴──────── fail() ────────────────────┴──▶ failed
 *
 *  O1  Batches hold their rows in the order of add(), and are sent in that order.
 *  O2  The callers that wait for a batch are notified once: when it is durable, or when the journal has failed.
 *  O3  After a failure nothing is sent any more.
 *  O4  No more than `threadRows` rows and `threadText` characters are in the thread at a time.
 *  O5  What is sent in one turn of the loop is bounded, however much is waiting.
 *
 * All callers that wait for rows of one batch share one promise: a commit costs no object of its own.
 *
 * Positions are given where the rows are written: other processes write to the same file.
 *
 * Rows that no caller waits for are held until the end of the turn: rows that follow in the same turn are then written in the
 * same commit.
 */
import type { HeddleError } from '../errors.ts'
import type { Clock } from '../kernel/clock.ts'
import { afterReactions } from '../kernel/turn.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'
import {
  cellsPerRow,
  type BatchWire,
  type Cell,
  type RunChange,
  type StoredValue,
} from './batch.ts'
import { joinBytes } from '../sqlite/own-bytes.ts'
import { waitFor } from '../kernel/wait-for.ts'

/** A batch is full with this many rows, or characters of details: about 0.5 ms to send. */
const batchRows = 1024
const batchText = 512 * 1024

const threadRows = 16_384
const threadText = 16 * 2 ** 20

/** Batches that are sent in one turn of the loop. */
const batchesPerTurn = 4

/** Rows and characters that may be pending before waitRoom() waits. */
const roomRows = 32_768
const roomText = 32 * 2 ** 20

class Batch {
  readonly number: number
  readonly rows: Cell[] = []
  readonly results: (number | string)[] = []
  readonly bodies: Uint8Array<ArrayBuffer>[] = []
  readonly changes: RunChange[] = []
  hasFiles = false
  /** Characters and bytes of data without a fixed size. */
  size = 0
  #waiting: PromiseWithResolvers<void> | undefined

  constructor(number: number) {
    this.number = number
  }

  get count(): number {
    return this.rows.length / cellsPerRow
  }

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.changes.length === 0
  }

  get isFull(): boolean {
    return this.rows.length >= batchRows * cellsPerRow || this.size >= batchText
  }

  get isAwaited(): boolean {
    return this.#waiting !== undefined
  }

  durable(): Promise<void> {
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  settle(error?: HeddleError): void {
    if (error === undefined) this.#waiting?.resolve()
    else this.#waiting?.reject(error)
  }

  wire(): BatchWire {
    const { number, rows, results, changes, hasFiles } = this
    const bodies = this.bodies.length === 0 ? undefined : joinBytes(this.bodies)
    return { batch: number, rows, results, changes, hasFiles, bodies }
  }
}

export interface OutboxHost {
  readonly clock: Clock
  /** Afterwards onDurable() or fail() is called. */
  send(batch: BatchWire): void
}

export class Outbox {
  readonly #host: OutboxHost
  readonly #room: WaiterList<void>
  #gathering = new Batch(1)
  /** Sealed ones, oldest first. */
  readonly #sealed: Batch[] = []
  /** The batches in the thread, oldest first. */
  readonly #sent: Batch[] = []
  #durableRows = 0
  #commits = 0
  #pendingRows = 0
  #pendingSize = 0
  #sentRows = 0
  #sentSize = 0
  #isPlanned = false
  /** Whether rows that no caller waits for have been held back once. */
  #isKept = false
  #failure: HeddleError | undefined
  #isReported = false

  constructor(host: OutboxHost) {
    this.#host = host
    this.#room = new WaiterList(host.clock)
  }

  get pending(): number {
    return this.#pendingRows
  }

  get failure(): HeddleError | undefined {
    return this.#failure
  }

  /** Whether a caller has got the failure. */
  get isFailureReported(): boolean {
    return this.#isReported
  }

  get hasRoom(): boolean {
    return this.#pendingRows < roomRows && this.#pendingSize < roomText
  }

  get counts(): { readonly rows: number; readonly commits: number } {
    return { rows: this.#durableRows, commits: this.#commits }
  }

  /** Adds a row, with the result or the change of the run that belongs to it. */
  add(
    run: number,
    kind: number,
    node: string | null,
    state: number | null,
    attempt: number | null,
    at: number,
    detail: string | null,
    value?: StoredValue,
    change?: RunChange,
  ): void {
    if (this.#failure !== undefined) return
    const batch = this.#gathering
    batch.rows.push(run, kind, node, state, attempt, at, detail)
    if (change !== undefined) batch.changes.push(change)
    let size = detail === null ? 0 : detail.length
    if (value !== undefined) size += this.#addResult(batch, value)
    this.#grow(batch, 1, size)
  }

  /** Adds a change of a run that comes with no row. */
  change(change: RunChange): void {
    if (this.#failure !== undefined) return
    this.#gathering.changes.push(change)
    this.#grow(this.#gathering, 0, 0)
  }

  #addResult(batch: Batch, value: StoredValue): number {
    const row = batch.count - 1
    if ('file' in value) {
      batch.results.push(row, value.file)
      batch.hasFiles = true
      return 0
    }
    const { body } = value
    batch.results.push(row, body.length)
    if (body.length > 0) batch.bodies.push(body)
    return body.length
  }

  #grow(batch: Batch, rows: number, size: number): void {
    this.#pendingRows += rows
    this.#pendingSize += size
    batch.size += size
    if (batch.isFull) this.#seal()
    this.#plan()
  }

  #seal(): void {
    const full = this.#gathering
    this.#sealed.push(full)
    this.#gathering = new Batch(full.number + 1)
  }

  /** Ends when everything so far is durable. */
  durable(): Promise<void> {
    if (this.#failure !== undefined) {
      this.#isReported = true
      return Promise.reject(this.#failure)
    }
    const last = this.#gathering.isEmpty
      ? (this.#sealed.at(-1) ?? this.#sent.at(-1))
      : this.#gathering
    return last?.durable() ?? Promise.resolve()
  }

  /** Like durable(), with a deadline and a signal. */
  waitDurable(what: string, options: WaitOptions): Promise<void> {
    const durable = this.durable()
    const isPatient = options.signal === undefined && options.deadline === undefined
    return isPatient ? durable : waitFor(durable, what, this.#host.clock, options)
  }

  waitRoom(what: string, options: WaitOptions): Promise<void> {
    if (this.#failure !== undefined) return this.durable()
    return this.#room.waitUnless(this.hasRoom, undefined, what, options)
  }

  /** Everything up to this batch is durable, with the commit of this number. */
  onDurable(number: number, commit: number = this.#commits + 1): void {
    this.#commits = commit
    let settled = 0
    for (const batch of this.#sent) {
      if (batch.number > number) break
      settled++
      this.#durableRows += batch.count
      this.#pendingRows -= batch.count
      this.#pendingSize -= batch.size
      this.#sentRows -= batch.count
      this.#sentSize -= batch.size
      batch.settle()
    }
    this.#sent.splice(0, settled)
    if (this.#failure !== undefined) return
    if (this.hasRoom) this.#room.wakeAll()
    if (this.#sealed.length > 0 || !this.#gathering.isEmpty) this.#plan()
  }

  /** The first failure stays: later ones are its consequences. */
  fail(error: HeddleError): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    for (const batch of [...this.#sent, ...this.#sealed, this.#gathering]) {
      if (batch.isAwaited) this.#isReported = true
      batch.settle(error)
    }
    if (this.#room.size > 0) this.#isReported = true
    this.#room.failAll(error)
    this.#sent.length = 0
    this.#sealed.length = 0
    this.#gathering = new Batch(0)
    this.#pendingRows = 0
    this.#pendingSize = 0
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    afterReactions(this.#send)
  }

  readonly #send = (): void => {
    if (!this.#isKept && this.#sealed.length === 0 && !this.#gathering.isAwaited) {
      this.#isKept = true
      afterReactions(this.#send)
      return
    }
    this.#isKept = false
    this.#isPlanned = false
    for (let sent = 0; this.#sentRows < threadRows && this.#sentSize < threadText; sent++) {
      if (this.#sealed.length === 0) {
        if (this.#gathering.isEmpty) return
        this.#seal()
      }
      if (sent === batchesPerTurn) {
        this.#isPlanned = true
        this.#host.clock.afterIo(this.#send)
        return
      }
      const batch = this.#sealed.shift()!
      this.#sent.push(batch)
      this.#sentRows += batch.count
      this.#sentSize += batch.size
      this.#host.send(batch.wire())
    }
  }
}
