/** Jobs on the loop that say when they have started, and end when the test says so. */
import { job, type Job, type JobContext } from '@heddle/core'

/** One computation that runs now. */
export interface Gated<I> {
  readonly input: I
  readonly context: JobContext
  readonly finish: (value: unknown) => void
  readonly fail: (error: unknown) => void
}

export class Gate<I = unknown> {
  readonly job: Job<I>
  /** Every computation that has started, in order, including ended ones. */
  readonly starts: Gated<I>[] = []
  #wake = Promise.withResolvers<void>()

  constructor(name: string) {
    this.job = job({ name }, (input: I, context) => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      this.starts.push({ input, context, finish: resolve, fail: reject })
      this.#wake.resolve()
      this.#wake = Promise.withResolvers()
      return promise
    })
  }

  /** Waits for the `count`th start, counted from 1. */
  async started(count = 1): Promise<Gated<I>> {
    while (this.starts.length < count) await this.#wake.promise
    return this.starts[count - 1]!
  }

  /** Lets everything end that has started. */
  finishAll(value: (input: I) => unknown = (input) => input): void {
    for (const { input, finish } of this.starts) finish(value(input))
  }
}
