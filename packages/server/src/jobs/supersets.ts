/**
 * Inputs that differ only in size: a stored or running computation for a larger one answers for a smaller one.
 *
 *   asked (same, size) ── a larger one is under way, or is done and stored ─▶ the request is one for that input
 *                      └── none ─▶ it is computed, and is the largest when it is done
 *
 * Invariants, quoted by the tests:
 *  U1  A request is answered by a computation of the same family (job, version, tenant, the equal parts) that is at
 *      least as large, if there is one: under way on this server, or stored. Of those under way the smallest that is
 *      large enough.
 *  U2  The larger wins: the recorded largest of a family is replaced by a larger one, or by one that was forced.
 *  U3  `force` is for the input itself: no other computation answers.
 *  U4  Nothing is between the lookup and the start: computations that begin or end meanwhile are seen in the step in
 *      which the request joins (W1).
 */
import { HeddleError } from '@heddle/core'
import { Remembered } from './remembered.ts'
import type { ResultStore } from './result-store.ts'
import type { Computation } from './computation.ts'

/** Which inputs answer for each other, and how large one is. */
export interface Family {
  /** The key is made of job, version, tenant and the equal part of the input. */
  readonly key: string
  readonly size: number
}

/** A computation that answers for smaller ones. */
export interface Larger {
  readonly handle: string
  readonly input: unknown
  readonly size: number
}

/** Families that this process remembers the largest of; the store has all. */
const remembered = 10_000

export class Supersets {
  readonly #store: Pick<ResultStore, 'largest' | 'keepLargest' | 'prepared'>
  /** Under way, by family. */
  readonly #works = new Map<string, Set<Computation>>()
  readonly #largest = new Remembered<Larger>(remembered)
  #reused = 0

  constructor(store: Pick<ResultStore, 'largest' | 'keepLargest' | 'prepared'>) {
    this.#store = store
  }

  /** Requests that were answered by a larger computation. */
  get reused(): number {
    return this.#reused
  }

  /**
   * What is stored and large enough.
   *
   * *Cancellation*: the signal ends it.
   */
  async look(
    { key, size }: Family,
    options: { readonly signal: AbortSignal; readonly deadline: number },
  ): Promise<void> {
    const inMemory = this.#largest.get(key)
    const isEnough = inMemory !== undefined && inMemory.size >= size
    const known = isEnough ? inMemory : await this.#store.largest(key, options)
    if (known === undefined || known.size < size) return
    // It may have left the store: then nothing answers for it.
    const isStored = (await this.#store.prepared(known.handle, options)) !== undefined
    const newest = this.#largest.get(key)
    if (isStored) {
      if (newest === undefined || newest.size < known.size) this.#largest.set(key, known)
    } else if (newest?.handle === known.handle) this.#largest.delete(key)
  }

  /** In the step in which a request joins (U4): what answers for it. */
  find({ key, size }: Family): Larger | undefined {
    let found: Larger | undefined
    for (const work of this.#works.get(key) ?? []) {
      const larger = largerOf(work)
      if (larger === undefined || larger.size < size) continue
      if (found === undefined || larger.size < found.size) found = larger
    }
    const stored = this.#largest.get(key)
    if (found === undefined && stored !== undefined && stored.size >= size) found = stored
    return found
  }

  /** A request is answered by another computation than its own. */
  countReuse(): void {
    this.#reused++
  }

  began(work: Computation): void {
    if (work.family === undefined) return
    const { key } = work.family
    const works = this.#works.get(key) ?? new Set()
    this.#works.set(key, works.add(work))
  }

  /** However it ended. */
  ended(work: Computation): void {
    if (work.family === undefined) return
    const { key } = work.family
    const works = this.#works.get(key)
    if (works?.delete(work) !== true) return
    if (works.size === 0) this.#works.delete(key)
    const larger = largerOf(work)
    if (work.state !== 'done' || work.hasUnstored || larger === undefined) return
    const known = this.#largest.get(key)
    if (known === undefined || known.size <= larger.size || work.isForced)
      this.#largest.set(key, larger)
  }

  /**
   * Records the largest (U2), before the work is done.
   *
   * *Cancellation*: none: it waits for the store.
   */
  async keep(work: Computation): Promise<void> {
    const larger = largerOf(work)
    if (work.family === undefined || larger === undefined || work.hasUnstored) return
    await this.#store.keepLargest(work.family.key, larger, work.isForced)
  }

  /** Stored results were deleted. */
  clear(): void {
    this.#largest.clear()
  }
}

function largerOf({ handle, submitted, family, signal }: Computation): Larger | undefined {
  if (family === undefined || submitted === undefined || signal.aborted) return undefined
  return { handle, input: submitted.input, size: family.size }
}

/** @throws `HDL_BAD_OPTION` when it is not a size. */
export function checkSize(job: string, size: unknown): number {
  if (typeof size === 'number' && size >= 0 && size < Infinity) return size
  const expected = 'a number of at least 0'
  throw new HeddleError('HDL_BAD_OPTION', {
    option: `superset.size of ${job}`,
    value: size,
    expected,
  })
}
