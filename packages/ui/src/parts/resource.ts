/**
 * Something that is fetched, and fetched again.
 *
 * Invariants, quoted by the tests:
 *  F1  The last value stays while the next is under way, and an error does not remove it.
 *  F2  An answer that was overtaken by a later question is dropped.
 *  F3  What failed for a passing reason is asked for again by itself, after pauses that double up to a limit; what was
 *      refused for good is not.
 *  F4  After stop() nothing is asked for and nothing changes.
 */
import { signal, type ReadonlySignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { isPassing } from '../api/errors.ts'
import { browserClock, type Clock } from '../kernel/clock.ts'

export interface Loaded<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
}

type Fetch<T> = (signal: AbortSignal) => Promise<T>

/** Milliseconds before what failed is asked for again: at first, and at most. */
const firstPause = 1_000
const longestPause = 15_000

export class Resource<T> {
  readonly #clock: Clock
  readonly #state = signal<Loaded<T>>({ value: undefined, error: undefined, isLoading: false })
  #abort: AbortController | undefined
  #pause = firstPause
  #cancelRetry: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get state(): ReadonlySignal<Loaded<T>> {
    return this.#state
  }

  async load(fetch: Fetch<T>): Promise<void> {
    this.stop()
    const abort = new AbortController()
    this.#abort = abort
    this.#state.value = { ...this.#state.peek(), isLoading: true }
    try {
      const value = await fetch(abort.signal)
      if (this.#abort !== abort) return
      this.#pause = firstPause
      this.#state.value = { value, error: undefined, isLoading: false }
    } catch (error) {
      if (this.#abort !== abort) return
      this.#state.value = { value: this.#state.peek().value, error, isLoading: false }
      if (isPassing(error)) this.#retry(fetch)
    }
  }

  stop(): void {
    this.#cancelRetry?.()
    this.#cancelRetry = undefined
    this.#abort?.abort()
    this.#abort = undefined
  }

  #retry(fetch: Fetch<T>): void {
    this.#cancelRetry = this.#clock.setTimer(this.#pause, () => void this.load(fetch))
    this.#pause = Math.min(longestPause, 2 * this.#pause)
  }
}

/** Fetches when the component is shown and whenever one of the inputs changes. */
export function useResource<T>(
  fetch: Fetch<T>,
  inputs: readonly unknown[],
): Loaded<T> & { readonly reload: () => void } {
  const [resource] = useState(() => new Resource<T>(browserClock))
  useEffect(() => {
    void resource.load(fetch)
    return () => resource.stop()
  }, [...inputs])
  return { ...resource.state.value, reload: () => void resource.load(fetch) }
}
