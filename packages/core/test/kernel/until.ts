/** Looks again and again at what no event reports: the state of another process, of a server, or of a file. */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'

/** Looks with only a turn of the loop between them. */
const quickLooks = 20
/** Milliseconds between two looks at the end: who looks leaves the processor to what it waits for. */
const longestPause = 20

/** Resolves when it is time for the look of this number, counted from 1. */
export function nextLook(number: number): Promise<void> {
  if (number <= quickLooks) return turn()
  return pause(Math.min(number - quickLooks, longestPause))
}

/** Resolves when this holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 1; !(await holds()); looks++) await nextLook(looks)
}

/** The first answer that is as it should be. */
export async function reach<T>(
  ask: () => Promise<T>,
  isReached: (found: T) => boolean,
): Promise<T> {
  for (let looks = 1; ; looks++) {
    const found = await ask()
    if (isReached(found)) return found
    await nextLook(looks)
  }
}
