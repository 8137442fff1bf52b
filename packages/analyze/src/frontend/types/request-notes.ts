/**
 * What the thread of the compiler notes about its requests, for {@link RequestLimit}.
 *
 *   word 0: odd while a request is under way; changes with every request
 *   word 1: the compiler's process; 0 when it is not known
 */
export class RequestNotes {
  readonly #words: Int32Array

  constructor(shared: SharedArrayBuffer) {
    this.#words = new Int32Array(shared)
  }

  /** Runs a request to a process. Not reentrant. */
  during<T>(pid: number | undefined, request: () => T): T {
    Atomics.store(this.#words, 1, pid ?? 0)
    Atomics.add(this.#words, 0, 1)
    try {
      return request()
    } finally {
      Atomics.add(this.#words, 0, 1)
    }
  }
}

export const bytesOfNotes = 8
