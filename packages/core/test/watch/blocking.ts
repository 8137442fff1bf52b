/**
 * Blocks the loop so that a watch can see it, however busy the machine is.
 *
 * The thread that looks at the loop can be late, so a block lasts until it has sampled. It samples once
 * between two beats: if the machine held this process up before the block, that look is gone. So a block
 * starts right after a beat.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { openProcessor } from '../../src/kernel/processor.ts'
import type { LoopWatch } from '../../src/watch/loop-watch.ts'
import type { Look } from '../../src/watch/watchdog.ts'

/** Where the thread finds what to call: see watchdog.ts. */
export const looks: Map<number, Look> = ((globalThis as Record<symbol, unknown>)[
  Symbol.for('heddle.watch')
] ??= new Map()) as Map<number, Look>

/** How often the loop was looked at. */
export const seen = { looks: 0 }
// Counted where a sample is requested and not around it, where it would be on the sampled stack.
const get = looks.get.bind(looks)
looks.get = (id) => {
  seen.looks++
  return get(id)
}

/** Milliseconds after which no look will come any more: the test is to fail then, not to hang. */
export const longestBlock = 20_000

/** Milliseconds that this thread has had a processor: what it lacked one for does not count as a block. */
function ownTime(): number {
  using processor = openProcessor()
  return processor.read().ran ?? performance.now()
}

/** Blocks for this many milliseconds, and until there were this many samples. */
export function busyLoop(milliseconds: number, wanted = 1): void {
  const enough = seen.looks + wanted
  const start = performance.now()
  const startOwn = ownTime()
  while (seen.looks < enough && performance.now() - start < longestBlock) continue
  // Asking for the own time is a call of the system: not more often than needed.
  while (ownTime() - startOwn < milliseconds) {
    for (const until = performance.now() + 1; performance.now() < until;) continue
  }
}

/** Waits for a beat, and for another one if the loop was looked at meanwhile. */
export async function undisturbed(beat: () => Promise<unknown>): Promise<void> {
  let before: number
  do {
    before = seen.looks
    await beat()
  } while (seen.looks !== before)
}

/** Resolves right after the next beat. */
export async function beatOf(watch: LoopWatch): Promise<void> {
  const { count } = watch.stats().delays
  while (watch.stats().delays.count === count) await turn()
}
