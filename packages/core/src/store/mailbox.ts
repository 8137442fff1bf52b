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
  /** All messages of these shards, oldest first: one query. */
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

export class Mailbox<R> {
  readonly #options: MailboxOptions<R>
  readonly #readEvery: number
  #timer: Timer | undefined
  #reading = false
  #wakened = false
  #state: 'idle' | 'started' | 'stopped' = 'idle'

  constructor(options: MailboxOptions<R>) {
    this.#options = options
    this.#readEvery = checkDuration('readEvery', options.readEvery ?? 1_000)
  }

  start(): void {
    if (this.#state !== 'idle') return
    this.#state = 'started'
    this.#readLater()
  }

  /** A read that is under way ends by itself. Stopping twice is harmless. */
  stop(): void {
    this.#state = 'stopped'
    this.#timer?.cancel()
  }

  /** A hint that there is a message: reads now, or again as soon as the read under way is over. */
  wake(): void {
    this.#wakened = true
    if (!this.#reading && this.#state === 'started') void this.#read()
  }

  async #read(): Promise<void> {
    this.#reading = true
    this.#timer?.cancel()
    do {
      this.#wakened = false
      await this.#takeAll()
    } while (this.#wakened && this.#state === 'started')
    this.#reading = false
    this.#readLater()
  }

  #readLater(): void {
    if (this.#state !== 'started' || this.#readEvery === Infinity) return
    this.#timer = this.#options.clock.setTimer(this.#readEvery, () => void this.#read())
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
      // Not read, refused or unknown: what is still posted is read again.
    }
  }

  async #take(message: Message, grant: Grant): Promise<void> {
    const { ownership, committer, deliver } = this.#options
    if (!ownership.trusts(grant.shard)) return
    const taken: MailRow = { kind: 'message-taken', id: message.id }
    const effects = deliver(message)
    if (effects === undefined) return
    await committer.write(grant, [...effects.rows, taken])
    effects.written?.()
  }
}
