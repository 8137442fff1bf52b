/** Something that was worked out from the rows of a run up to some position. */
export class Derived<T> {
  readonly value: T
  #position = 0
  #work: Promise<void> = Promise.resolve()

  constructor(value: T) {
    this.value = value
  }

  /**
   * Works on from where the last call got to. `work` returns how far it has come. Callers at the same
   * time take turns, so that no row is taken in twice.
   */
  catchUp(work: (from: number) => Promise<number>): Promise<void> {
    const next = this.#work.then(async () => {
      this.#position = await work(this.#position)
    })
    // The next caller tries again from where the last success was.
    this.#work = next.catch(() => undefined)
    return next
  }
}

/** Caches the last requested runs. */
export class Remembered<T> {
  readonly #limit: number
  readonly #make: () => T
  readonly #byRun = new Map<number, Derived<T>>()

  constructor(limit: number, make: () => T) {
    this.#limit = limit
    this.#make = make
  }

  of(run: number): Derived<T> {
    const derived = this.#byRun.get(run) ?? new Derived(this.#make())
    // Maps keep the order of insertion: the one asked for longest ago is first.
    this.#byRun.delete(run)
    this.#byRun.set(run, derived)
    for (const [oldest] of this.#byRun) {
      if (this.#byRun.size <= this.#limit) break
      this.#byRun.delete(oldest)
    }
    return derived
  }
}
