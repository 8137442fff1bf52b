/**
 * Last write wins, per client.
 *
 *   take(slot) ─▶ current ─ take(slot) by a newer one ─▶ stale (for ever)
 *                    │
 *                    └ release() ─▶ released: the slot is forgotten
 *
 * A slot is a name the client chooses ("the plot in my left panel"). It says which of its own
 * requests replace each other. It is not the content key: two clients that ask for the same content
 * share one computation and must not supersede each other.
 *
 * Invariants, quoted by the tests:
 *  I1  Sequence numbers strictly grow and are never used twice, also after a slot was forgotten.
 *  I2  Of all tickets of a slot at most the newest is current; all older ones are stale: their
 *      signals aborted in the same step in which the newer one was taken.
 *  I3  Releasing a stale ticket changes nothing: an old client that leaves never touches the newest.
 *  I4  Memory is one entry per slot that a caller holds, and none for others.
 *
 * Why one counter for all slots: a counter per slot must be kept for ever (it leaks) or forgotten
 * (it starts again at 1 and an old number means a new request). Numbers drawn from one counter grow
 * inside every slot and need no memory per slot.
 */

import { HeddleError } from '../errors.ts'
import { checkCount, checkName, checkOptions, type OptionNames } from '../kernel/check.ts'

/** The right to be the newest request of a slot. */
export interface SlotTicket extends Disposable {
  readonly slot: string
  /** Greater than that of every ticket taken before, of any slot. */
  readonly sequence: number
  /** Whether a newer request has taken the slot. Check it before starting work and before writing. */
  readonly stale: boolean
  /** Aborts with `HDL_SUPERSEDED` when the ticket becomes stale. */
  readonly signal: AbortSignal
  /** Call it when the request has ended. Twice is harmless. */
  release(): void
}

export interface SlotsOptions {
  /** Slots held at a time; a new one beyond that is refused. 100,000 when absent. */
  readonly maxSlots?: number | undefined
}

export interface SlotsStats {
  /** Slots that a caller holds. */
  readonly held: number
  /** Tickets given out so far. */
  readonly taken: number
  /** Tickets that became stale so far. */
  readonly superseded: number
}

class Ticket implements SlotTicket {
  readonly slot: string
  readonly sequence: number
  readonly #current: Map<string, Ticket>
  #controller: AbortController | undefined
  #error: HeddleError | undefined

  constructor(slot: string, sequence: number, current: Map<string, Ticket>) {
    this.slot = slot
    this.sequence = sequence
    this.#current = current
  }

  get stale(): boolean {
    return this.#error !== undefined
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#error !== undefined) this.#controller.abort(this.#error)
    }
    return this.#controller.signal
  }

  supersede(by: number): void {
    this.#error = new HeddleError('HDL_SUPERSEDED', {
      what: `Request ${this.sequence} of slot "${this.slot}"`,
      by: `request ${by}`,
    })
    this.#controller?.abort(this.#error)
  }

  release(): void {
    if (this.#current.get(this.slot) === this) this.#current.delete(this.slot)
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

const optionNames = {
  maxSlots: 1,
} satisfies OptionNames<SlotsOptions>

/**
 * Last-write-wins between the requests of one client.
 *
 * @example
 * const slots = new Slots()
 * const first = slots.take('ada/left panel')
 * using second = slots.take('ada/left panel')
 * const stale = [first.stale, second.stale] // => [true, false]
 * first.release()   // an old client leaves: harmless
 * slots.size // => 1
 */
export class Slots {
  readonly #maxSlots: number
  readonly #current = new Map<string, Ticket>()
  #sequence = 0
  #superseded = 0

  constructor(options: SlotsOptions = {}) {
    checkOptions(options, optionNames)
    this.#maxSlots = checkCount('maxSlots', options.maxSlots ?? 100_000, 1, true)
  }

  /** How many slots are held. */
  get size(): number {
    return this.#current.size
  }

  /**
   * Takes the slot. The ticket that held it becomes stale in the same step.
   *
   * @throws `HDL_TOO_MANY_WAITERS` when `maxSlots` other slots are held.
   */
  take(slot: string): SlotTicket {
    checkName('slot', slot)
    const older = this.#current.get(slot)
    if (older === undefined && this.#current.size >= this.#maxSlots) {
      throw new HeddleError('HDL_TOO_MANY_WAITERS', { what: 'Slots', limit: this.#maxSlots })
    }
    const ticket = new Ticket(slot, ++this.#sequence, this.#current)
    this.#current.set(slot, ticket)
    if (older !== undefined) {
      this.#superseded++
      // Last, because its listeners run now and may take the slot again.
      older.supersede(ticket.sequence)
    }
    return ticket
  }

  /**
   * Whether this number is no longer the newest held of its slot. For numbers that left the process;
   * inside it ask the ticket, which also distinguishes a released one from a superseded one.
   */
  isStale(slot: string, sequence: number): boolean {
    return this.#current.get(slot)?.sequence !== sequence
  }

  stats(): SlotsStats {
    return { held: this.#current.size, taken: this.#sequence, superseded: this.#superseded }
  }
}
