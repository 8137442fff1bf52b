/**
 * What a call of a step returns: it knows whether anything listens to it, and whether the job waits for it
 * (attendance.ts).
 *
 *   called ──then, catch, finally, await──▶ listened to
 *     └── the attempt ends ──▶ it never settles: code that outlives its job does not continue
 *
 * Rejections of one that nothing listens to are not unhandled: its job fails instead (G13 of docs/design/growing.md).
 */
import type { Attendance, Settlement } from './attendance.ts'

export interface StepLink {
  readonly attendance: Attendance
  /** False once the attempt has ended. */
  mayContinue(): boolean
  onHeard(): void
  /**
   * Called before the promise settles, which waits for the returned promise: the job must have its permits before it
   * continues.
   */
  onSettling(attendance: Attendance, how: Settlement): Promise<unknown> | undefined
}

export class StepPromise<T> extends Promise<T> {
  static {
    // Promise.race() calls `then` of a promise itself only if that is not of a subclass; `await` never calls it then, but reads this.
    Reflect.defineProperty(StepPromise.prototype, 'constructor', {
      configurable: true,
      get(this: object) {
        if (#link in this && !this.#isOwnCall) {
          this.#link.onHeard()
          this.#link.attendance.onAwait()
        }
        return Promise
      },
    })
  }

  readonly #link: StepLink
  #isOwnCall = false

  constructor(work: Promise<T>, link: StepLink) {
    super((resolve, reject) => {
      const settle = (how: Settlement, finish: () => void): void => {
        if (!link.mayContinue()) return
        const ready = link.onSettling(link.attendance, how)
        if (ready === undefined) finish()
        else ready.then(() => link.mayContinue() && finish(), reject)
      }
      work.then(
        (value) => settle('fulfilled', () => resolve(value)),
        (error: unknown) => settle('rejected', () => reject(error)),
      )
    })
    this.#link = link
  }

  /** The promise of a call. */
  static ofCall<T>(work: Promise<T>, link: StepLink): StepPromise<T> {
    const called = new StepPromise(work, link)
    called.#then().catch(() => undefined)
    return called
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise; that it is listened to is what it is for
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const link = this.#link
    link.onHeard()
    const attendance = link.attendance.onThen(onFulfilled, onRejected)
    const made = this.#then(onFulfilled, onRejected)
    return new StepPromise(made, { ...link, attendance, mayContinue: () => true })
  }

  #then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#isOwnCall = true
    try {
      return super.then(onFulfilled, onRejected)
    } finally {
      this.#isOwnCall = false
    }
  }
}
