import { Queue } from '@heddle/core/lowlevel'
import { concurrency } from '../suites/engine/conditions.ts'
import type { PlayBounded } from '../suites/engine/contract.ts'
import { inSlices } from '../suites/engine/slices.ts'

/** A bounded queue and as many loops as may run at once: results are not kept. */
export const bounded: PlayBounded = async (items, task) => {
  const queue = new Queue<number>({ capacity: 1024 })
  const loop = async () => {
    for await (const item of queue.items()) await task(item)
  }
  const loops = Promise.all(Array.from({ length: concurrency }, loop))
  await inSlices(items.length, (index) => {
    const item = items[index]!
    return queue.tryPut(item) ? undefined : queue.put(item)
  })
  queue.close()
  await loops
}
