import fastq from 'fastq'
import { concurrency } from '../suites/engine/conditions.ts'
import type { PlayBounded } from '../suites/engine/contract.ts'

export const bounded: PlayBounded = async (items, task) => {
  const queue = fastq.promise((item: number) => task(item), concurrency)
  for (const item of items) void queue.push(item)
  await queue.drained()
}
