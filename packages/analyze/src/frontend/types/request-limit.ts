/**
 * Ends a compiler that does not answer.
 *
 * Requests to it are synchronous, so the thread that waits cannot give up by itself. It notes its
 * request in shared memory (`request-notes.ts`), and here, where the loop is free, the notes are checked
 * now and then: the compiler's process is killed when one request takes too long. The pipe then ends,
 * the request throws, and the analysis continues without it.
 *
 * I1. Only a request that was seen at every check of a whole limit is ended. A loop that is busy looks
 *     later, never too early.
 */
import type { Clock, Timer } from '@heddle/core/lowlevel'
import { bytesOfNotes } from './request-notes.ts'

const looksPerLimit = 10

export class RequestLimit {
  /** The memory shared with the asking thread. */
  readonly shared: SharedArrayBuffer = new SharedArrayBuffer(bytesOfNotes)
  readonly #words = new Int32Array(this.shared)
  readonly #clock: Clock
  readonly #interval: number
  #timer: Timer
  #seen = 0
  #looks = 0

  constructor(limitMs: number, clock: Clock) {
    this.#clock = clock
    this.#interval = limitMs / looksPerLimit
    this.#timer = this.#later()
  }

  /** The compiler that was asked last. */
  get pid(): number | undefined {
    return Atomics.load(this.#words, 1) || undefined
  }

  /** No caller waits for answers any more: the request that is under way is ended, and no other begins. */
  end(): void {
    Atomics.store(this.#words, 2, 1)
    if (Atomics.load(this.#words, 0) % 2 !== 0) this.#kill()
  }

  close(): void {
    this.#timer.cancel()
  }

  #later(): Timer {
    return this.#clock.setTimer(this.#interval, () => {
      this.#look()
      this.#timer = this.#later()
    })
  }

  #look(): void {
    const now = Atomics.load(this.#words, 0)
    const isSame = now === this.#seen && now % 2 !== 0
    this.#seen = now
    this.#looks = isSame ? this.#looks + 1 : 0
    if (this.#looks < looksPerLimit) return
    this.#looks = 0
    this.#kill()
  }

  #kill(): void {
    const { pid } = this
    try {
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}
