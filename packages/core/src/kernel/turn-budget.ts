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
 */
export class TurnBudget {
  readonly #clock: Clock
  readonly #onTurnEnd: (wasSpent: boolean) => void
  readonly #budget: number
  #isOpen = false
  /** No work may go on in this turn of the loop. */
  isSpent = false
  /** When the turn opened, on the clock's monotonic scale. */
  startedAt = 0

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

  readonly #end = (): void => {
    const wasSpent = this.isSpent
    this.#isOpen = false
    this.isSpent = false
    this.#onTurnEnd(wasSpent)
  }
}
