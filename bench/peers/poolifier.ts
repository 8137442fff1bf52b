import { fileURLToPath } from 'node:url'
import { FixedThreadPool } from 'poolifier'
import { threads } from '../suites/engine/conditions.ts'
import type { ThreadCaller } from '../suites/engine/contract.ts'

const filename = fileURLToPath(new URL('poolifier-worker.ts', import.meta.url))

export function open(): ThreadCaller {
  const pool = new FixedThreadPool<number, number>(threads, filename)
  return (name, input) => pool.execute(input, name)
}
