import type { Clock } from './clock.ts'
import { WaiterList, checkWait, type WaitOptions } from './waiters.ts'

/**
 * Ends as `work` does, or earlier, when its signal aborts or its deadline passes.
 *
 * *Cancellation*: ends the wait; the work itself continues.
 * *Fairness*: each caller waits for its own work.
 */
export function waitFor<T>(
  work: Promise<T>,
  what: string,
  clock: Clock,
  options: WaitOptions,
): Promise<T> {
  checkWait(options)
  const waiting = new WaiterList<T>(clock)
  const ended = waiting.wait(what, options)
  work.then(
    (value) => waiting.wakeFirst(value),
    (error) => waiting.failAll(error),
  )
  return ended
}
