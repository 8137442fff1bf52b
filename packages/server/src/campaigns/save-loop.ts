/**
 * Writes due rows, one write at a time: while one is under way, later rows gather. Its order of writes is the
 * order of decisions, so a later write depends only on earlier ones and on itself.
 *
 *  V1  save() resolves when everything that was due at its call is durable.
 *  V2  A write that failed is tried again until it succeeds or the loop is stopped; its callers get the error (L11).
 */
import type { Kernel, Timer } from '@heddle/core/lowlevel'

export interface SaveLoopOptions {
  readonly kernel: Kernel
  /** Writes everything that is due now. Rows that it could not write are due again. */
  readonly write: () => Promise<void>
  /** Whether anything is due. */
  readonly isDue: () => boolean
}

const firstPause = 500
const longestPause = 10_000

export class SaveLoop {
  readonly #options: SaveLoopOptions
  #running: Promise<void> | undefined
  #next: PromiseWithResolvers<void> | undefined
  #retry: Timer | undefined
  #failures = 0
  #stopped: Error | undefined

  constructor(options: SaveLoopOptions) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#running === undefined && !this.#options.isDue()
  }

  /** Resolves when everything decided so far is durable (V1). */
  save(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped)
    if (this.#running === undefined) return this.#options.isDue() ? this.#start() : done
    // Everything is in the write that is under way.
    if (this.#next === undefined && !this.#options.isDue()) return this.#running
    if (this.#next === undefined) {
      this.#next = Promise.withResolvers()
      // Its callers may have gone.
      this.#next.promise.catch(() => undefined)
    }
    return this.#next.promise
  }

  /** Like save(), for callers that do not wait. */
  saveSoon(): void {
    this.save().catch(() => undefined)
  }

  /** Writes nothing more; due rows are answered with `reason`. */
  stop(reason: Error): void {
    this.#stopped ??= reason
    this.#retry?.cancel()
  }

  #start(): Promise<void> {
    this.#retry?.cancel()
    this.#retry = undefined
    const writing = this.#options.write()
    this.#running = writing
    writing.then(
      () => this.#ended(true),
      () => this.#ended(false),
    )
    return writing
  }

  #ended(succeeded: boolean): void {
    this.#running = undefined
    this.#failures = succeeded ? 0 : this.#failures + 1
    const next = this.#next
    this.#next = undefined
    if (next !== undefined) {
      if (!this.#options.isDue()) next.resolve()
      else if (this.#stopped !== undefined) next.reject(this.#stopped)
      else this.#start().then(next.resolve, next.reject)
    } else if (!succeeded && this.#options.isDue() && this.#stopped === undefined) this.#tryLater()
  }

  #tryLater(): void {
    const longest = Math.min(firstPause * 2 ** this.#failures, longestPause)
    const { clock, random } = this.#options.kernel
    this.#retry = clock.setTimer(firstPause + random.next() * longest, () => this.saveSoon())
  }
}

const done = Promise.resolve()
