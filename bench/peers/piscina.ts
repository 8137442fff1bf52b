import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { threads } from '../suites/engine/conditions.ts'
import type { ThreadCaller } from '../suites/engine/contract.ts'

const filename = fileURLToPath(new URL('thread-jobs.ts', import.meta.url))

export function open(options: { concurrentTasksPerWorker?: number } = {}): ThreadCaller {
  const pool = new Piscina<number, number>({
    filename,
    minThreads: threads,
    maxThreads: threads,
    ...options,
  })
  return (name, input) => pool.run(input, { name })
}
