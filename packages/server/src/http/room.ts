/**
 * A room is one part of the server: its routes, its life, its figures. `server.ts` puts rooms together, and each becomes
 * a Fastify plugin.
 */
import type { MetricFamily } from './metrics/prometheus.ts'
import type { Route } from './route.ts'

/** How a drain ended. */
export interface Drained {
  /** Whether everything that was admitted or acknowledged has ended by itself. */
  readonly isClean: boolean
  /** True when the store could not be written: acknowledged work may run again after the next start. */
  readonly isStoreFailed?: boolean
}

/** Users do not implement it. */
export interface Room {
  readonly name: string
  readonly routes: readonly Route[]
  /**
   * Before the server listens: nothing is asked of the room before it has started.
   *
   * *Cancellation*: none.
   */
  start(): Promise<void>
  /**
   * Refuses new work and finishes old work. Reads are still served.
   *
   * *Cancellation*: the signal is the deadline: whatever still waits is answered, and the drain is not clean.
   */
  drain(options: { readonly signal: AbortSignal }): Promise<Drained>
  /** After the last answer was sent. Harmless twice, and before the start. *Cancellation*: none. */
  stop(options?: { readonly deadline?: number }): Promise<void>
  /** For programs; `health` is for `/healthz`. */
  stats(): object
  metrics(): readonly MetricFamily[]
  /** Fields of `/healthz`. */
  health?(): object
  /** Why the server should not be given work now. */
  notReady?(): Iterable<string>
  /** Conditions that an operator should know, although the server is ready. */
  degraded?(): Iterable<string>
}
