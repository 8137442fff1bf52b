import { fileURLToPath } from 'node:url'
import { Tinypool } from 'tinypool'
import { threads } from '../suites/engine/conditions.ts'
import type { ThreadCaller } from '../suites/engine/contract.ts'

const filename = fileURLToPath(new URL('thread-jobs.ts', import.meta.url))

export function open(): ThreadCaller {
  const pool = new Tinypool({ filename, minThreads: threads, maxThreads: threads })
  return (name, input) => pool.run(input, { name }) as Promise<number>
}
