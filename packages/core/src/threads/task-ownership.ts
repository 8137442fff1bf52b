/**
 * The words that the loop and one thread share: the owner of a task is decided here and nowhere else.
 *
 * ```
 *             publish (loop)          claim (thread)           cancel (loop)
 *   free ───────────────────▶ queued ───────────────▶ claimed ───────────────▶ cancelled
 *    ▲                          │                        │                         │
 *    └──── revoke (loop) ───────┘                        │                         │
 *    └──── release (loop, after the result or the end of the thread) ──────────────┘
 * ```
 *
 * A task is copied to the thread before it is known whether the thread will get to it. As long as
 * its word says `queued` the loop may take it back and give it to another thread; both sides use
 * compare-and-exchange, so exactly one of revoke and claim succeeds (L1).
 *
 * A ticket is a slot and a generation. A message whose task was revoked stays in the thread's mail
 * until the thread reads it; by then its slot may serve a later task. The generation in the word
 * is then another one, and the claim of the old ticket fails (L2). Generations wrap after 16
 * million uses of one slot, while a thread's mail holds a few hundred messages at most.
 */

/** Tasks that can be on their way to, or in, one thread. */
export const slotCount = 64

const slotBits = 6
const slotMask = slotCount - 1
const generationMask = 2 ** 24 - 1

const queued = 1
const claimed = 2
const cancelled = 3

/** Names one stay of one task in one thread. */
export type Ticket = number

/** Shared memory for one thread. */
function createWords(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(slotCount * Int32Array.BYTES_PER_ELEMENT))
}

export function slotOf(ticket: Ticket): number {
  return ticket & slotMask
}

const word = (ticket: Ticket, state: number): number => ((ticket >>> slotBits) << 2) | state

/** Thread: starts the task, unless the loop took it back. */
export function claim(words: Int32Array, ticket: Ticket): boolean {
  const expected = word(ticket, queued)
  return (
    Atomics.compareExchange(words, slotOf(ticket), expected, word(ticket, claimed)) === expected
  )
}

/** Thread: whether the task should stop. Also true once it has ended. */
export function isCancelled(words: Int32Array, ticket: Ticket): boolean {
  return Atomics.load(words, slotOf(ticket)) !== word(ticket, claimed)
}

/** The loop's side: hands out tickets and takes them back. */
export class Slots {
  readonly words = createWords()
  readonly #free = Array.from({ length: slotCount }, (_, index) => slotMask - index)
  readonly #generations = new Uint32Array(slotCount)

  /** `generation` is where counting starts: tests start shortly before it wraps. */
  constructor(generation = 0) {
    this.#generations.fill(generation)
  }

  /** How many tickets are out. */
  get used(): number {
    return slotCount - this.#free.length
  }

  /** There must be a free slot. */
  publish(): Ticket {
    const slot = this.#free.pop()!
    const generation = (this.#generations[slot]! + 1) & generationMask
    this.#generations[slot] = generation
    const ticket = (generation << slotBits) | slot
    Atomics.store(this.words, slot, word(ticket, queued))
    return ticket
  }

  /** Takes a task back. False when the thread has claimed it. */
  revoke(ticket: Ticket): boolean {
    const expected = word(ticket, queued)
    if (Atomics.compareExchange(this.words, slotOf(ticket), expected, 0) !== expected) return false
    this.#free.push(slotOf(ticket))
    return true
  }

  /** Tells the job that runs on this ticket to stop. */
  cancel(ticket: Ticket): void {
    Atomics.compareExchange(
      this.words,
      slotOf(ticket),
      word(ticket, claimed),
      word(ticket, cancelled),
    )
  }

  /** Whether the thread has started the task. */
  isClaimed(ticket: Ticket): boolean {
    return Atomics.load(this.words, slotOf(ticket)) !== word(ticket, queued)
  }

  /** Called after the result has arrived, or the thread has ended. */
  release(ticket: Ticket): void {
    Atomics.store(this.words, slotOf(ticket), 0)
    this.#free.push(slotOf(ticket))
  }
}
