import type { Clock } from '../kernel/clock.ts'
import { WaiterList, type WaitOptions } from '../kernel/waiters.ts'

/** Ends as `work` does, or earlier, when the caller gives up. The work goes on. */
export function waitFor(
  work: Promise<void>,
  what: string,
  clock: Clock,
  options: WaitOptions,
): Promise<void> {
  const waiting = new WaiterList<void>(clock)
  const ended = waiting.wait(what, options)
  work.then(
    () => waiting.wakeFirst(),
    (error) => waiting.failAll(error),
  )
  return ended
}
