import type { Clock } from './clock.ts'
import { sliceBudget } from './slices.ts'

/**
 * Bounds how long one part works on end before timers and sockets get their turn.
 *
 *     closed ── first isOver() ─▶ open ── budget is over ─▶ spent
 *        ▲                          │                          │
 *        └───────── I/O had its chance: onTurnEnd(spent) ──────┘
 *
 * A turn opens with the first look after I/O had its chance, so many short bursts in one turn of the
 * loop count together. `Slices` is for work that awaits; this one is for work that is called back.
 *
 *  T1  Once isOver() has been true, it stays true until I/O has had its chance.
 *  T2  onTurnEnd is called once for each turn that was opened.
 *  T3  about() never goes back, and is never more than `mostGuesses` calls behind. It is exact in a turn whose
 *      calls are more than `briefly` apart.
 */

/** Milliseconds between two looks at the clock below which the calls between them count as work that takes no time. */
const briefly = 0.02
/** So many looks in a row must be that close before calls share one. */
const looksBeforeGuesses = 64
/** How many calls of about() share one look, besides the call that looks. */
const mostGuesses = 3

export class TurnBudget {
  readonly #clock: Clock
  readonly #onTurnEnd: (wasSpent: boolean) => void
  readonly #budget: number
  #isOpen = false
  /** No work may go on in this turn of the loop. */
  isSpent = false
  /** When the turn opened, on the clock's monotonic scale. */
  startedAt = 0
  #lastLook = 0
  #briefLooks = 0
  #guesses = 0

  /** `budget` in milliseconds. */
  constructor(clock: Clock, onTurnEnd: (wasSpent: boolean) => void, budget = sliceBudget) {
    this.#clock = clock
    this.#onTurnEnd = onTurnEnd
    this.#budget = budget
  }

  /** Whether the turn has used up its time. Opens the turn. */
  isOver(now: number): boolean {
    if (!this.#isOpen) {
      this.#isOpen = true
      this.startedAt = now
      this.#clock.afterIo(this.#end)
      return false
    }
    if (now - this.startedAt < this.#budget) return this.isSpent
    this.isSpent = true
    return true
  }

  /** The time. */
  now(): number {
    return (this.#lastLook = this.#clock.now())
  }

  /**
   * The time, for what is done very often. Reading the clock costs 40 to 60 ns, a quarter of running an empty
   * node. So once a turn has been seen to do nothing that takes time, only every fourth call reads it: the times
   * of up to four such calls are the same (docs/decisions/0181).
   */
  about(): number {
    if (this.#guesses > 0) {
      this.#guesses--
      return this.#lastLook
    }
    const last = this.#lastLook
    const now = this.now()
    if (now - last > briefly) this.#briefLooks = 0
    else if (++this.#briefLooks > looksBeforeGuesses) this.#guesses = mostGuesses
    return now
  }

  readonly #end = (): void => {
    const wasSpent = this.isSpent
    this.#briefLooks = 0
    this.#guesses = 0
    this.#isOpen = false
    this.isSpent = false
    this.#onTurnEnd(wasSpent)
  }
}
