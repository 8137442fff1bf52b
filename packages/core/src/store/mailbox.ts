/**
 * The role of messages between processes: signals, cancels, starts by key. Any process may post a message; the
 * owner of its shard takes it.
 *
 *     posted ──read by the owner──▶ delivered ──its effects and its removal are one batch──▶ gone
 *                  ▲                     │
 *                  └── the batch was refused or failed: the owner of then reads it again
 *
 * Invariants, quoted by the simulation (C7, C10 of docs/design/store.md):
 *  M1  The effects of a message and its removal are written together, so they happen once.
 *  M2  A wake is a hint: a message that no wake announced is read at most `readEvery` later.
 *  M3  One read at a time, and the next only after everything of the last was written: a message that is
 *      being removed is never read again by its own reader.
 */
import { checkDuration } from '../kernel/check.ts'
import type { Clock, Timer } from '../kernel/clock.ts'
import { Life, type Service, type ServiceState, type StopOptions } from '../kernel/service.ts'
import { waitFor } from '../kernel/wait-for.ts'
import type { Committer } from './committer.ts'
import type { Grant } from './database.ts'
import type { Ownership } from './ownership.ts'

/** A message to the owner of a shard. */
export interface Message {
  /** Unique: posting it again changes nothing. */
  readonly id: string
  readonly shard: number
  readonly kind: 'cancel'
  /** The handle or run it is for. */
  readonly to: string
}

export interface MailRow {
  readonly kind: 'message-taken'
  readonly id: string
}

export interface Mail {
  post(message: Message): Promise<void>
  /** Reads all messages of these shards, oldest first: one query. */
  messages(shards: readonly number[]): Promise<readonly Message[]>
}

export interface MailboxOptions<R> {
  readonly ownership: Pick<Ownership, 'trusts' | 'grants'>
  readonly committer: Pick<Committer<R | MailRow>, 'write'>
  readonly database: Pick<Mail, 'messages'>
  readonly clock: Clock
  /** Milliseconds between two reads without a wake. Default 1,000. */
  readonly readEvery?: number
  /**
   * Carries a message out; undefined leaves it posted, for the next read. It is called again for a message whose
   * effects could not be written.
   */
  readonly deliver: (message: Message) => Effects<R> | undefined
}

/** What a message leads to. */
export interface Effects<R> {
  /** Written together with the removal of the message. */
  readonly rows: readonly R[]
  /** Called when they are durable. */
  readonly written?: () => void
}

export interface MailboxStats {
  readonly state: ServiceState
  /** Whether a read is under way. */
  readonly reading: boolean
  /** Messages whose effects are durable. */
  readonly taken: number
}

export class Mailbox<R> implements Service {
  readonly #options: MailboxOptions<R>
  readonly #readEvery: number
  #timer: Timer | undefined
  /** The read that is under way. */
  #reading: Promise<void> | undefined
  #wakened = false
  #taken = 0
  readonly #life: Life

  constructor(options: MailboxOptions<R>) {
    this.#options = options
    this.#readEvery = checkDuration('readEvery', options.readEvery ?? 1_000)
    this.#life = new Life({
      what: 'The mailbox',
      clock: options.clock,
      deadline: 5_000,
      start: () => this.#readLater(),
      stop: (enough) => this.#end(enough),
    })
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  /** Waits for the read under way. Messages that it has not taken by the deadline stay posted, for the next owner. */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): MailboxStats {
    const { state } = this.#life
    return { state, reading: this.#reading !== undefined, taken: this.#taken }
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#timer?.cancel()
    if (this.#reading === undefined) return
    const { clock } = this.#options
    // It never fails, and a read cut off here ends by itself (M1).
    await waitFor(this.#reading, 'The last read', clock, { signal: enough }).catch(() => undefined)
  }

  /** A hint that there is a message: reads now, or again as soon as the read under way is over. */
  wake(): void {
    this.#wakened = true
    if (this.#life.isRunning) this.#read()
  }

  /** M3. */
  #read(): void {
    this.#reading ??= this.#readAll()
  }

  async #readAll(): Promise<void> {
    this.#timer?.cancel()
    do {
      this.#wakened = false
      await this.#takeAll()
    } while (this.#wakened && this.#life.isRunning)
    this.#reading = undefined
    if (this.#life.isRunning) this.#readLater()
  }

  #readLater(): void {
    if (this.#readEvery === Infinity) return
    this.#timer = this.#options.clock.setTimer(this.#readEvery, () => this.#read())
  }

  async #takeAll(): Promise<void> {
    const { ownership, database } = this.#options
    const grants = new Map<number, Grant>()
    for (const grant of ownership.grants()) {
      if (ownership.trusts(grant.shard)) grants.set(grant.shard, grant)
    }
    if (grants.size === 0) return
    try {
      const messages = await database.messages([...grants.keys()])
      await Promise.all(messages.map((message) => this.#take(message, grants.get(message.shard)!)))
    } catch {
      // Not read, refused or unknown: messages still posted are read again.
    }
  }

  async #take(message: Message, grant: Grant): Promise<void> {
    const { ownership, committer, deliver } = this.#options
    if (!ownership.trusts(grant.shard)) return
    const taken: MailRow = { kind: 'message-taken', id: message.id }
    const effects = deliver(message)
    if (effects === undefined) return
    await committer.write(grant, [...effects.rows, taken])
    this.#taken++
    effects.written?.()
  }
}
