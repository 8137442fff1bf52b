import { isError, type HeddleError } from '../../errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { pauseFor } from '../../kernel/wait-for.ts'
import { isRefused, type Link } from './database-link.ts'

/** Milliseconds; doubled with each failure. */
const firstPause = 20
const longestPause = 1_000

/** Refusals that pass: lost races, no room, no resources, a server that stops, starts or became a replica. */
const passing = /^(40|53|55|57|25006)/

export interface Patience {
  readonly clock: Clock
  /** Milliseconds without success after which the last error is thrown. */
  readonly retryFor: number
  /** Called when the call begins to fail, and with undefined when it has succeeded after all. */
  readonly onTrouble?: (error: HeddleError | undefined) => void
}

/**
 * Sends a statement again until it succeeds: for statements that change nothing when they are carried out twice.
 *
 * *Cancellation*: none; it ends after `retryFor`.
 * @throws what Link.call() throws.
 */
export async function callPatiently<Row extends unknown[]>(
  link: Link,
  { clock, retryFor, onTrouble }: Patience,
  action: string,
  statement: string,
  /** The parameters of each attempt, counted from 1. */
  parameters: readonly unknown[] | ((attempt: number) => readonly unknown[]),
): Promise<Row[]> {
  const giveUpAt = clock.now() + retryFor
  let attempt = 0
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    attempt++
    try {
      const values = typeof parameters === 'function' ? parameters(attempt) : parameters
      const rows = await link.call<Row>(action, statement, values)
      if (pause > firstPause) onTrouble?.(undefined)
      return rows
    } catch (error) {
      if (!isPassing(error) || clock.now() >= giveUpAt) throw error
      if (pause === firstPause) onTrouble?.(error)
      await pauseFor(pause, clock)
    }
  }
}

function isPassing(error: unknown): error is HeddleError {
  if (!isError(error, 'HDL_STORE_FAILED')) return false
  return isRefused(error) ? passing.test(error.sqlState) : true
}
