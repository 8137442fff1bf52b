/**
 * What a call of a step returns: it knows whether anything listens to it.
 *
 *   called ──then, catch, finally, await──▶ listened to
 *     └── the attempt ends ──▶ it never settles: code that outlives its job does not go on
 *
 * Rejections of one that nothing listens to are not unhandled: its job fails instead (G13 of docs/design/growing.md).
 */
export class StepPromise<T> extends Promise<T> {
  /** What `then` returns is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  readonly #onHeard: () => void

  constructor(work: Promise<T>, mayContinue: () => boolean, onHeard: () => void) {
    super((resolve, reject) => {
      work.then(
        (value) => {
          if (mayContinue()) resolve(value)
        },
        (error: unknown) => {
          if (mayContinue()) reject(error)
        },
      )
    })
    this.#onHeard = onHeard
    super.then(undefined, () => undefined)
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise; that it is listened to is what it is for
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#onHeard()
    return super.then(onFulfilled, onRejected)
  }
}
