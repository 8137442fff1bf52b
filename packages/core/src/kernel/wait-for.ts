import type { Clock } from './clock.ts'
import { WaiterList, type WaitOptions } from './waiters.ts'

/** Ends as `work` does, or earlier, when its signal aborts or its deadline passes. The work itself continues. */
export function waitFor<T>(
  work: Promise<T>,
  what: string,
  clock: Clock,
  options: WaitOptions,
): Promise<T> {
  const waiting = new WaiterList<T>(clock)
  const ended = waiting.wait(what, options)
  work.then(
    (value) => waiting.wakeFirst(value),
    (error) => waiting.failAll(error),
  )
  return ended
}
