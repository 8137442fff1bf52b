/**
 * What the demonstrations share: promises that are settled by hand, in the order that goes wrong.
 *
 * Nothing here waits for time. A race that needs luck in production needs none when the test settles
 * every promise.
 */

/** What was seen: whether the race happened, and in which words. */
export interface Seen {
  readonly happened: boolean
  readonly what: string
}

/** Calls that wait until they are answered, in the order in which they came. */
export class Answers<T> {
  readonly #waiting: PromiseWithResolvers<T>[] = []
  /** How many calls there were. */
  calls = 0

  /** Hand this to the code under test. */
  readonly ask = (): Promise<T> => {
    this.calls++
    const call = Promise.withResolvers<T>()
    this.#waiting.push(call)
    return call.promise
  }

  /** Answers the oldest open call, or the one at `index`. */
  answer(value: T, index = 0): void {
    this.#take(index)?.resolve(value)
  }

  fail(error: Error, index = 0): void {
    this.#take(index)?.reject(error)
  }

  get open(): number {
    return this.#waiting.length
  }

  #take(index: number): PromiseWithResolvers<T> | undefined {
    return this.#waiting.splice(index, 1)[0]
  }
}

/** Lets everything run that can run without anybody answering. */
export async function settle(): Promise<void> {
  // Longer than any chain of promises here.
  for (let i = 0; i < 50; i++) await Promise.resolve()
}
