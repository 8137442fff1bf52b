/**
 * Something that is fetched, and fetched again: the last value stays while the next is under way, an error does not
 * remove it, and an answer that was overtaken by a later question is dropped.
 */
import { signal, type ReadonlySignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'

export interface Loaded<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
}

class Resource<T> {
  readonly #state = signal<Loaded<T>>({ value: undefined, error: undefined, isLoading: false })
  #abort: AbortController | undefined

  get state(): ReadonlySignal<Loaded<T>> {
    return this.#state
  }

  /** Replaces the value by one that came otherwise. */
  set(value: T): void {
    this.#state.value = { ...this.#state.peek(), value, error: undefined }
  }

  async load(fetch: (signal: AbortSignal) => Promise<T>): Promise<void> {
    this.#abort?.abort()
    const abort = new AbortController()
    this.#abort = abort
    this.#state.value = { ...this.#state.peek(), isLoading: true }
    try {
      const value = await fetch(abort.signal)
      if (this.#abort !== abort) return
      this.#state.value = { value, error: undefined, isLoading: false }
    } catch (error) {
      if (this.#abort !== abort) return
      this.#state.value = { value: this.#state.peek().value, error, isLoading: false }
    }
  }

  stop(): void {
    this.#abort?.abort()
    this.#abort = undefined
  }
}

/** Fetches when the component is shown and whenever one of the inputs changes. */
export function useResource<T>(
  fetch: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): Loaded<T> & { readonly reload: () => void } {
  const [resource] = useState(() => new Resource<T>())
  useEffect(() => {
    void resource.load(fetch)
    return () => resource.stop()
  }, [...inputs])
  return { ...resource.state.value, reload: () => void resource.load(fetch) }
}
