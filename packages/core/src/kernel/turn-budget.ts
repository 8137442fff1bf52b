import type { Clock } from './clock.ts'
import { sliceBudget } from './slices.ts'

/**
 * Bounds how long the parts of this process work on end before timers and sockets get their turn.
 *
 *     closed ── first isOver() ─▶ open ── budget is over ─▶ spent
 *        ▲                          │                          │
 *        └───────── I/O had its chance: onTurnEnd(spent) ──────┘
 *
 * A turn opens with the first check after I/O had its chance, so many short bursts in one turn of the
 * loop count together. They also do when each is a part of its own: a thousand short runs, one after
 * the other, share one turn. `Slices` is for work that awaits; this one is for work that is called back.
 *
 *  T1  Once isOver() has been true, it stays true until I/O has had its chance.
 *  T2  onTurnEnd is called once for each turn that was opened.
 *  T3  about() never goes back, and is never more than `mostGuesses` calls behind. It is exact in a turn whose
 *      calls are more than `briefly` apart.
 *  T4  Parts that share the loop share its turns: they work for one budget together. Those that found the turn spent
 *      at their first check come first in the next one.
 *  T5  A clock is asked for one afterIo() in each turn, however many parts work in it.
 */

/**
 * Milliseconds between two readings of the clock below which the calls between them count as work that takes no time.
 */
const briefly = 0.02
/** This many checks in a row must be that close before calls share one. */
const looksBeforeGuesses = 64
/** How many calls of about() share one reading, besides the call that reads. */
const mostGuesses = 3

/** A turn of the loop, and the parts that checked their budget in it. */
class Turn {
  readonly #clock: Clock
  /** The parts that found it spent at their first check. */
  #refused: TurnBudget[] = []
  #worked: TurnBudget[] = []
  #isOpen = false
  openedAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Its time so far when a part looks for the first time. Opens the turn. */
  enter(now: number): number {
    if (this.#isOpen) return now - this.openedAt
    this.#isOpen = true
    this.openedAt = now
    this.#clock.afterIo(this.#end)
    return 0
  }

  add(part: TurnBudget, isRefused: boolean): void {
    if (isRefused) this.#refused.push(part)
    else this.#worked.push(part)
  }

  readonly #end = (): void => {
    const parts = this.#refused.length === 0 ? this.#worked : this.#refused.concat(this.#worked)
    this.#refused = []
    this.#worked = []
    this.#isOpen = false
    this.#endFor(parts, 0)
  }

  #endFor(parts: readonly TurnBudget[], from: number): void {
    let next = from
    try {
      while (next < parts.length) parts[next++]!.end()
    } finally {
      // An error of one part ends the process, or it does not: then the others continue.
      if (next < parts.length) this.#clock.afterIo(() => this.#endFor(parts, next))
    }
  }
}

/** Keyed by clock, so that independent parts share the loop they run on. */
const turns = new WeakMap<Clock, Turn>()

function turnOf(clock: Clock): Turn {
  let turn = turns.get(clock)
  if (turn === undefined) turns.set(clock, (turn = new Turn(clock)))
  return turn
}

export interface TurnBudgetOptions {
  /** The budget in milliseconds. */
  readonly budget?: number
  /** It has its budget whatever the others have used of the turn: for short work that must not wait for them. */
  readonly isApart?: boolean
}

export class TurnBudget {
  readonly #clock: Clock
  readonly #turn: Turn
  readonly #isApart: boolean
  readonly #onTurnEnd: (wasSpent: boolean) => void
  readonly #budget: number
  #isOpen = false
  /** No work may continue in this turn of the loop. */
  isSpent = false
  /** When this part looked for the first time in this turn, on the clock's monotonic scale. */
  startedAt = 0
  /** From when on the budget counts. */
  #since = 0
  #lastLook = 0
  #briefLooks = 0
  #guesses = 0

  constructor(
    clock: Clock,
    onTurnEnd: (wasSpent: boolean) => void,
    { budget = sliceBudget, isApart = false }: TurnBudgetOptions = {},
  ) {
    this.#clock = clock
    this.#turn = turnOf(clock)
    this.#onTurnEnd = onTurnEnd
    this.#budget = budget
    this.#isApart = isApart
  }

  /** Whether the turn has used up its time. Opens the turn. */
  isOver(now: number): boolean {
    if (!this.#isOpen) return this.#open(now)
    if (now - this.#since < this.#budget) return this.isSpent
    this.isSpent = true
    return true
  }

  #open(now: number): boolean {
    const used = this.#turn.enter(now)
    this.#isOpen = true
    this.startedAt = now
    this.#since = this.#isApart ? now : now - used
    this.isSpent = !this.#isApart && used >= this.#budget
    this.#turn.add(this, this.isSpent)
    return this.isSpent
  }

  /** The time. */
  now(): number {
    return (this.#lastLook = this.#clock.now())
  }

  /**
   * The time, for very frequent work. Reading the clock costs 40 to 60 ns, a quarter of running an empty
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

  /** Called when the turn is over. */
  end(): void {
    const wasSpent = this.isSpent
    this.#briefLooks = 0
    this.#guesses = 0
    this.#isOpen = false
    this.isSpent = false
    this.#onTurnEnd(wasSpent)
  }
}
