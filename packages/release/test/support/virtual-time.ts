import type { Kernel, Random } from '@heddle/core/lowlevel'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'

/** The longest possible delay each time, so that tests can say what it is. */
export const largest: Random = { next: () => 1 }

export interface VirtualKernel extends Kernel {
  readonly clock: VirtualClock
}

export function virtualKernel(random: Random = seededRandom(1)): VirtualKernel {
  return { clock: new VirtualClock(), random }
}

/**
 * Runs `work` in virtual time while real servers answer: time stands still as long as one of them has
 * something to do, and moves on in steps otherwise. `busy` says whether anything is on its way.
 */
export async function inVirtualTime<T>(
  clock: VirtualClock,
  busy: () => boolean,
  work: Promise<T>,
  step = 50,
): Promise<T> {
  let settled = false
  const mark = (): void => {
    settled = true
  }
  work.then(mark, mark)
  while (!settled) {
    await clock.settle()
    // Sockets need turns of the real loop that no promise tells of.
    if (busy() || clock.pending === 0) await new Promise((done) => setTimeout(done, 1))
    else await clock.advance(step)
  }
  return work
}
