/**
 * The right to be inside: what `acquire()`, `read()` and `write()` give.
 *
 * Give it back with `using`, or with `release()`. Releasing twice is harmless, so a `finally` and an
 * early release can both be there.
 *
 * @example
 * {
 *   using permit = await mutex.acquire({ deadline: 1000 })
 *   await save()
 * }
 */
export class Permit implements Disposable {
  /** How many permits this is; 1 for locks. */
  readonly weight: number
  /** How many of them are reserved permits of a semaphore. */
  readonly reserved: number
  #giveBack: ((permit: Permit) => void) | undefined

  /** @internal Made by the primitives. */
  constructor(giveBack: (permit: Permit) => void, weight = 1, reserved = 0) {
    this.#giveBack = giveBack
    this.weight = weight
    this.reserved = reserved
  }

  get released(): boolean {
    return this.#giveBack === undefined
  }

  release(): void {
    const giveBack = this.#giveBack
    this.#giveBack = undefined
    giveBack?.(this)
  }

  [Symbol.dispose](): void {
    this.release()
  }
}
