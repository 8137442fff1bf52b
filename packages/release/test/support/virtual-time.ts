import type { Kernel, Random } from '@heddle/core/lowlevel'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { runInVirtualTime } from '../../src/testing/virtual-time.ts'

/** The longest possible delay each time, so that tests know it. */
export const largest: Random = { next: () => 1 }

export interface VirtualKernel extends Kernel {
  readonly clock: VirtualClock
}

export function virtualKernel(random: Random = seededRandom(1)): VirtualKernel {
  return { clock: new VirtualClock(), random }
}

export function inVirtualTime<T>(
  clock: VirtualClock,
  busy: () => boolean,
  work: Promise<T>,
  step?: number,
): Promise<T> {
  return runInVirtualTime(clock, work, { busy, ...(step === undefined ? {} : { step }) })
}
