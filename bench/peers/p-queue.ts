import PQueue from 'p-queue'
import { concurrency } from '../suites/engine/conditions.ts'
import type { PlayBounded } from '../suites/engine/contract.ts'

export const bounded: PlayBounded = async (items, task) => {
  const queue = new PQueue({ concurrency })
  for (const item of items) void queue.add(() => task(item))
  await queue.onIdle()
}
