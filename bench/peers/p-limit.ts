import pLimit from 'p-limit'
import { concurrency } from '../suites/engine/conditions.ts'
import type { PlayBounded } from '../suites/engine/contract.ts'

export const bounded: PlayBounded = (items, task) => {
  const limit = pLimit(concurrency)
  return Promise.all(Array.from(items, (item) => limit(() => task(item))))
}
