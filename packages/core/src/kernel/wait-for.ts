import { AbortCallback } from './abort.ts'
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

/**
 * Waits until the work has ended, or `enough` aborts. False in the second case: the work continues, and is not awaited.
 * For the stop step of a part.
 *
 * *Cancellation*: resolves with false.
 * @throws the error of the work.
 */
export async function endsBefore(
  enough: AbortSignal,
  work: Promise<unknown>,
  clock: Clock,
): Promise<boolean> {
  try {
    await waitFor(work, 'The end of work under way', clock, { signal: enough })
    return true
  } catch (error) {
    if (!enough.aborted) throw error
    return false
  }
}

/**
 * Resolves after this many milliseconds, or as soon as the signal aborts: the caller checks it. Leaves no timer behind.
 *
 * *Cancellation*: resolves early.
 */
export function pauseFor(milliseconds: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  if (signal === undefined) {
    return new Promise((resolve) => void clock.setTimer(milliseconds, resolve))
  }
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = clock.setTimer(milliseconds, () => {
      leave[Symbol.dispose]()
      resolve()
    })
    const leave = new AbortCallback(signal, () => {
      timer.cancel()
      resolve()
    })
  })
}
