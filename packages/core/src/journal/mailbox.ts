/**
 * The mailbox of runs: any process posts a message to a run, and the process that writes the run reads it (J9).
 *
 *     posted ──read above the last number──▶ delivered ──the row that records it removes it──▶ gone
 *        ▲                                       │
 *        └────────── the run was let go: its next writer reads all of them again
 *
 * Invariants, quoted by the tests (C7 and C10 are those of docs/design/store.md):
 *  M1  A writer gets each message once, in the order in which they were posted. The database gives numbers that grow: a
 *      message that becomes readable has a higher number than those of its run that were read before it.
 *  M2  A wake is a hint (C7): a message that no wake announced is read at most `readEvery` later.
 *  M3  One read at a time. A wake during a read makes another one follow at once.
 *  M4  A read asks for messages above the last number that was delivered: a signal that no job waits for is read once.
 *  M5  Reading keeps no process alive.
 */
import type { Clock, Timer } from '../kernel/clock.ts'
import { decodeValue } from './encode.ts'
import type { RunMessage } from './journal.ts'

/** A message as the database has it. */
export interface PostedMessage {
  readonly mail: number
  readonly run: number
  readonly kind: string
  readonly sender: string
  /** Absent where it is not a signal. */
  readonly name: string | null
  readonly value: Uint8Array<ArrayBuffer> | null
}

/** The writer of a run. */
export interface Recipient {
  /** Undefined: the message is damaged, or a later version has sent it. It is removed unread. */
  onMessage(message: RunMessage | undefined, mail: number): void
}

/** Instead of a number, for a run whose messages were never read. */
export const neverRead = -1

/** Runs, each with the number above which its messages are wanted. */
export type WantedMail = readonly (readonly [run: number, after: number])[]

export interface MailboxOptions {
  /** The address of the journal, which errors name. */
  readonly address: string
  readonly clock: Clock
  /** Milliseconds between two reads without a wake. */
  readonly readEvery: number
  /** Reads messages, in the order of their numbers. */
  readonly read: (wanted: WantedMail) => Promise<readonly PostedMessage[]>
}

interface Box {
  readonly recipient: Recipient
  after: number
}

export class Mailbox {
  readonly #options: MailboxOptions
  /** By the number of the run. */
  readonly #boxes = new Map<number, Box>()
  #timer: Timer | undefined
  /** The read under way. Never rejects. */
  #reading: Promise<void> | undefined
  #isWakened = false
  #isStopped = false

  constructor(options: MailboxOptions) {
    this.#options = options
  }

  /** From here on the writer gets the messages of its run. */
  add(run: number, recipient: Recipient): void {
    this.#boxes.set(run, { recipient, after: neverRead })
    this.#readLater()
  }

  remove(run: number): void {
    this.#boxes.delete(run)
    if (this.#boxes.size === 0) this.#rest()
  }

  /** Whether this process writes the run. */
  has(run: number): boolean {
    return this.#boxes.has(run)
  }

  /** M2: there may be a message. */
  wake(): void {
    this.#isWakened = true
    if (!this.#isStopped) this.#reading ??= this.#readAll()
  }

  /** Nothing is delivered any more. Resolves when the read under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#rest()
    await this.#reading
  }

  #rest(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #readLater(): void {
    if (this.#timer !== undefined || this.#isStopped || this.#boxes.size === 0) return
    const { clock, readEvery } = this.#options
    this.#timer = clock.setTimer(readEvery, () => {
      this.#timer = undefined
      this.wake()
    })
    this.#timer.unref?.()
  }

  async #readAll(): Promise<void> {
    this.#rest()
    while (this.#isWakened && !this.#isStopped) {
      this.#isWakened = false
      await this.#readOnce()
    }
    this.#reading = undefined
    this.#readLater()
  }

  async #readOnce(): Promise<void> {
    if (this.#boxes.size === 0) return
    const asked = new Map(this.#boxes)
    const wanted = Array.from(asked, ([run, { after }]) => [run, after] as const)
    try {
      const posted = await this.#options.read(wanted)
      for (const box of asked.values()) box.after = Math.max(box.after, 0)
      for (const each of posted) await this.#deliver(each, asked.get(each.run))
    } catch {
      // The database is away: the next read finds them.
    }
  }

  async #deliver(posted: PostedMessage, box: Box | undefined): Promise<void> {
    const { mail, run } = posted
    if (box === undefined || mail <= box.after) return
    const message = await this.#messageOf(posted)
    // The run may have been let go meanwhile, and may have got another writer, which reads all of them again.
    if (this.#isStopped || this.#boxes.get(run) !== box) return
    box.after = mail
    box.recipient.onMessage(message, mail)
  }

  async #messageOf(posted: PostedMessage): Promise<RunMessage | undefined> {
    const { kind, sender: by, name, value } = posted
    if (kind === 'cancel') return { kind, by }
    if (kind !== 'signal' || name === null) return undefined
    const { address, clock } = this.#options
    try {
      const body = value ?? new Uint8Array(0)
      return { kind, name, by, value: await decodeValue(body, name, address, clock) }
    } catch {
      return undefined
    }
  }
}
