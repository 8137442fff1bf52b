/**
 * How long the loop could not serve a timer.
 *
 * A timer asks to be called every millisecond; the gap is how late a call is, counted from the
 * moment it was due. The last, unfinished gap counts too: a run that never gives the loop a turn
 * would otherwise look perfect, because the ticker never ran.
 *
 * Known limit: Node's timers are whole milliseconds, so an idle loop shows 1 to 2 ms.
 */
export class GapMeter {
  #due = 0
  #longest = 0
  #timer: NodeJS.Timeout | undefined
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  start(): void {
    this.#longest = 0
    this.#arm()
  }

  /** The longest gap since `start`, in milliseconds. */
  stop(): number {
    clearTimeout(this.#timer)
    this.#note()
    return this.#longest
  }

  #arm(): void {
    this.#due = this.#now() + 1
    this.#timer = setTimeout(() => {
      this.#note()
      this.#arm()
    }, 1)
  }

  #note(): void {
    const late = this.#now() - this.#due
    if (late > this.#longest) this.#longest = late
  }
}
