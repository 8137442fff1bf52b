/**
 * Git tags of a release, made and pushed in batches.
 *
 * ```
 *   tag() ──▶ waiting ──(window over, or no more can come)──▶ batch: make, push ──▶ made | there | failed
 * ```
 *
 * Starting a process of Git blocks the loop for milliseconds, and a push is a connection: one for each
 * of 150 packages took longer than all of their uploads (docs/decisions/0251). The window doubles with
 * each batch, so that a long release has few batches and a short one does not wait (docs/decisions/0255).
 *
 * Invariants, quoted by the tests:
 *  T1  One batch at a time. Tags requested while one is under way are in the next.
 *  T2  A tag that exists is not moved.
 *  T3  A caller gets its answer when its tag is in the repository and, with a remote, there as well.
 *  T4  A tag that cannot be made or pushed fails alone: its batch is repeated tag by tag.
 *  T5  No caller waits longer than the window for tags that may not come, and none waits once every package has
 *      asked for its tag or declared that it needs none.
 *  T6  Packages that share a tag, as in lockstep, share its answer.
 */
import { type Kernel, Patience, type WaitOptions } from '@heddle/core/lowlevel'
import { waitFor } from '@heddle/core/lowlevel'
import type { Repository } from './repository.ts'

export interface TagQueueOptions {
  readonly repository: Pick<Repository, 'makeTags' | 'push'>
  /** Tags that are asked for, at most: the last of them does not wait for others. */
  readonly expected: number
  /** Where tags are pushed to; nowhere when absent. */
  readonly remote?: string | undefined
  readonly kernel: Kernel
  /** Ends the batch that is under way. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds that the first batch waits for more tags. Default 250. */
  readonly window?: number
}

/** How many times as long as the first window the longest is: 2 s. */
const widest = 8

interface Wanted {
  readonly ended: Promise<'made' | 'there'>
  readonly message: string
  readonly resolve: (is: 'made' | 'there') => void
  readonly reject: (error: unknown) => void
}

/** Milliseconds that Git may take for one batch. */
const longestBatch = 300_000

export class TagQueue implements AsyncDisposable {
  readonly #options: TagQueueOptions
  readonly #longest: number
  #window: number
  #waiting = new Map<string, Wanted>()
  /** Packages that have asked for their tag, or need none. */
  #decided = 0
  #running: Promise<void> | undefined
  /** Ends the window early. */
  #hurry = new AbortController()

  constructor(options: TagQueueOptions) {
    this.#options = options
    this.#window = options.window ?? 250
    this.#longest = widest * this.#window
  }

  /**
   * Makes a tag, unless there is one of that name.
   *
   * *Cancellation*: ends the wait; the tag may be made.
   * *Fairness*: in order of arrival, batch by batch.
   */
  async tag(name: string, message: string, wait: WaitOptions = {}): Promise<'made' | 'there'> {
    const ended = this.#waiting.get(name)?.ended ?? this.#want(name, message)
    this.#decide()
    this.#running ??= this.#run()
    return waitFor(ended, `the Git tag ${name}`, this.#options.kernel.clock, wait)
  }

  #want(name: string, message: string): Promise<'made' | 'there'> {
    const { promise: ended, resolve, reject } = Promise.withResolvers<'made' | 'there'>()
    ended.catch(() => undefined)
    this.#waiting.set(name, { ended, message, resolve, reject })
    return ended
  }

  /** A package that needs no tag: others do not wait for it. */
  leaveOut(): void {
    this.#decide()
  }

  /**
   * Waits for the batch that is under way.
   *
   * *Cancellation*: by the signal of the queue.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#hurry.abort()
    await this.#running
  }

  #decide(): void {
    this.#decided++
    if (this.#decided >= this.#options.expected) this.#hurry.abort()
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      await this.#gather()
      const batch = this.#waiting
      this.#waiting = new Map()
      if (!(await this.#make(batch))) {
        // T4
        for (const one of batch) await this.#make(new Map([one]), true)
      }
    }
    this.#running = undefined
  }

  async #gather(): Promise<void> {
    const { kernel } = this.#options
    const { signal } = this.#hurry
    const pause = new Patience('more Git tags', kernel.clock, { signal }).pause(this.#window)
    await pause.catch(() => undefined)
    this.#window = Math.min(2 * this.#window, this.#longest)
  }

  /** Whether every caller of the batch has an answer. */
  async #make(batch: ReadonlyMap<string, Wanted>, isLast = batch.size === 1): Promise<boolean> {
    const { repository, remote, signal } = this.#options
    const wait = { deadline: longestBatch, ...(signal !== undefined && { signal }) }
    const messages = new Map(Array.from(batch, ([name, { message }]) => [name, message]))
    try {
      const made = await repository.makeTags(messages, wait)
      if (remote !== undefined) await repository.push(remote, [...batch.keys()], wait)
      for (const [name, { resolve }] of batch) resolve(made.has(name) ? 'made' : 'there')
      return true
    } catch (error) {
      if (!isLast && signal?.aborted !== true) return false
      for (const { reject } of batch.values()) reject(error)
      return true
    }
  }
}
