/**
 * The life of the whole server.
 *
 *   accepting ── begin ─▶ draining ── all work ended, or the deadline ─▶ stopped
 *
 * D1. It is begun once; whoever begins it again waits for the same end, and a shorter deadline counts.
 * D2. The door is closed in the step in which it begins.
 */
import { HeddleError } from '@heddle/core'
import type { JobService } from '../service/service.ts'

export type ServerState = 'accepting' | 'draining' | 'stopped'

export interface DrainOptions {
  /** Milliseconds for work that was admitted. */
  readonly deadline?: number | undefined
  /** Ends the waiting, as the deadline does. */
  readonly signal?: AbortSignal | undefined
}

export interface Drained {
  /** Whether all work ended by itself. */
  readonly isClean: boolean
}

export class Drain {
  readonly #service: JobService
  readonly #deadline: number
  readonly #ended = Promise.withResolvers<Drained>()
  readonly #stop = new AbortController()
  #state: ServerState = 'accepting'

  constructor(service: JobService, deadline: number) {
    this.#service = service
    this.#deadline = deadline
  }

  get state(): ServerState {
    return this.#state
  }

  /** Resolves when it is over, whoever began it. */
  get ended(): Promise<Drained> {
    return this.#ended.promise
  }

  /**
   * Closes the door and waits until all work has ended; at the deadline those who still wait are told
   * `HDL_DRAINING`.
   *
   * *Cancellation*: the signal counts as the deadline.
   */
  begin({ deadline = this.#deadline, signal }: DrainOptions = {}): Promise<Drained> {
    const hurry = (): void =>
      this.#stop.abort(new HeddleError('HDL_DRAINING', { what: 'The server' }))
    if (signal?.aborted) hurry()
    else signal?.addEventListener('abort', hurry, { once: true })
    if (this.#state === 'accepting') {
      this.#state = 'draining'
      void this.#service.drain(deadline, this.#stop.signal).then((drained) => {
        this.#state = 'stopped'
        this.#ended.resolve(drained)
      })
    }
    return this.ended
  }
}
