/** Checks again and again what no event reports: the state of another process, of a server, or of a file. */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'

/** Checks with only a turn of the loop between them. */
const quickChecks = 20
/** Milliseconds between two checks at the end: the check leaves the processor to what it waits for. */
const longestPause = 20

/** Resolves when it is time for the check of this number, counted from 1. */
export function nextCheck(number: number): Promise<void> {
  if (number <= quickChecks) return turn()
  return pause(Math.min(number - quickChecks, longestPause))
}

/** Resolves when this holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let checks = 1; !(await holds()); checks++) await nextCheck(checks)
}

/** The first answer that is as it should be. */
export async function reach<T>(
  ask: () => Promise<T>,
  isReached: (found: T) => boolean,
): Promise<T> {
  for (let checks = 1; ; checks++) {
    const found = await ask()
    if (isReached(found)) return found
    await nextCheck(checks)
  }
}
