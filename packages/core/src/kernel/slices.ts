import type { Clock } from './clock.ts'

/** Milliseconds of uninterrupted work after which timers and sockets get their turn. */
export const sliceBudget = 4

/**
 * Callers that wait to continue their sliced work, in order.
 *
 * One of them continues in each turn of the loop. If all did, ten works side by side would make one
 * gap of ten slices.
 */
class Line {
  readonly #clock: Clock
  readonly #waiting: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  join(goOn: () => void): void {
    this.#waiting.push(goOn)
    if (this.#waiting.length === 1) this.#clock.afterIo(this.#turn)
  }

  readonly #turn = (): void => {
    const goOn = this.#waiting.shift()
    if (this.#waiting.length > 0) this.#clock.afterIo(this.#turn)
    goOn?.()
  }
}

/** Keyed by clock, so that independent parts share the loop they run on. */
const lines = new WeakMap<Clock, Line>()

function lineOf(clock: Clock): Line {
  let line = lines.get(clock)
  if (line === undefined) lines.set(clock, (line = new Line(clock)))
  return line
}

/**
 * Cuts long synchronous work into slices: `if (slices.due) await slices.next()`.
 *
 * Reading the clock costs about 30 ns, so `due` reads it only at every 64th call; work in larger steps
 * asks for a reading at each.
 */
export class Slices {
  readonly #clock: Clock
  readonly #mask: number
  #started: number
  #calls = 0

  /** `every` is a power of two: how many calls of `due` share one reading of the clock. */
  constructor(clock: Clock, every = 64) {
    this.#clock = clock
    this.#mask = every - 1
    this.#started = clock.now()
  }

  /** Whether this slice has used up its time. */
  get due(): boolean {
    return (++this.#calls & this.#mask) === 0 && this.#clock.now() - this.#started >= sliceBudget
  }

  /** Lets other work run, then starts the next slice. */
  async next(): Promise<void> {
    await new Promise<void>((done) => lineOf(this.#clock).join(done))
    this.#started = this.#clock.now()
  }
}

/** For packages above this one: slices that read the clock at every `every`th call of `due`. */
export function slicesOf(clock: Clock, every?: number): Slices {
  return new Slices(clock, every)
}
