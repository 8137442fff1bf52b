import { ThreadPool } from '@heddle/core/lowlevel'
import { threads } from '../suites/engine/conditions.ts'
import type { ThreadCaller } from '../suites/engine/contract.ts'

const module = new URL('thread-jobs.ts', import.meta.url).href

export function open(): ThreadCaller {
  const pool = new ThreadPool({ threads })
  return (job, input) => pool.run({ module, job, input }) as Promise<number>
}
