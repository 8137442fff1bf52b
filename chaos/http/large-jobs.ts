/** Jobs with large results: the same value, made on the loop and in a thread. */
import { setTimeout } from 'node:timers/promises'
import { job } from '@heddle/core'

export interface LargeInput {
  /** Length of the result's JSON, to within a line. */
  readonly bytes: number
  /** Milliseconds before the result is there, so that callers wait for it. */
  readonly after: number
}

const line = 'x'.repeat(997)

async function makeLines({ bytes, after }: LargeInput): Promise<string[]> {
  await setTimeout(after)
  return Array.from({ length: Math.ceil(bytes / 1_000) }, () => line)
}

export const largeOnLoop = job({ name: 'large-on-loop' }, makeLines)
export const largeInThread = job(
  { name: 'large-in-thread', place: 'thread', module: import.meta.url },
  makeLines,
)
