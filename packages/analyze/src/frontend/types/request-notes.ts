/**
 * What the thread of the compiler notes about its requests, for {@link RequestLimit}.
 *
 *   word 0: odd while a request is under way; changes with every request
 *   word 1: the compiler's process; 0 when it is not known
 *   word 2: 1 when no caller waits for answers any more
 */
export class RequestNotes {
  readonly #words: Int32Array

  constructor(shared: SharedArrayBuffer) {
    this.#words = new Int32Array(shared)
  }

  get isOver(): boolean {
    return Atomics.load(this.#words, 2) === 1
  }

  /** Runs a request to a process. Not reentrant. Throws when no caller waits for answers any more. */
  during<T>(pid: number | undefined, request: () => T): T {
    Atomics.store(this.#words, 1, pid ?? 0)
    Atomics.add(this.#words, 0, 1)
    try {
      // After the note: the side that ends it sees either this request, or none that continues.
      if (this.isOver) throw new Error('Nobody waits for an answer.')
      return request()
    } finally {
      Atomics.add(this.#words, 0, 1)
    }
  }
}

export const bytesOfNotes = 12
