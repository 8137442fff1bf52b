import { setImmediate as turn } from 'node:timers/promises'

const sliceMs = 4
const checkEvery = 64

/**
 * Calls `each` for every index below `size` and gives the loop a turn every few milliseconds.
 *
 * No scheduler can yield for its user: 100,000 `add` calls in one loop are one gap, whatever they
 * cost each. Ours, the floor and the schedulers written by hand are all fed like this; a library
 * that takes the whole graph in one call cannot be.
 */
export async function inSlices(
  size: number,
  each: (index: number) => void | Promise<void>,
): Promise<void> {
  let sliceEnd = performance.now() + sliceMs
  for (let index = 0; index < size; index++) {
    const wait = each(index)
    if (wait !== undefined) await wait
    if (index % checkEvery === 0 && performance.now() > sliceEnd) {
      await turn()
      sliceEnd = performance.now() + sliceMs
    }
  }
}
