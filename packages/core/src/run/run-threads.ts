import type { ResourceLimits } from 'node:worker_threads'
import { checkCount, checkOptions, type OptionNames } from '../kernel/check.ts'
import { ThreadPool } from '../threads/pool.ts'

/** Threads of one run. */
export interface ThreadOptions {
  /** How many there are at most. As many as the machine runs at a time when absent. */
  readonly count?: number
  /**
   * Bytes of the heap that the jobs of one thread may take, at least 16 MiB. A job that takes more fails, and its thread is
   * replaced. Node's own limit when absent.
   */
  readonly memory?: number
}

const optionNames = { count: 1, memory: 1 } satisfies OptionNames<ThreadOptions>

const mebibyte = 2 ** 20

/** Less than this and a thread cannot load its modules. */
const leastMemory = 16 * mebibyte

/** Milliseconds that threads have to end after the run: its jobs have ended. */
export const threadStopTime = 5_000

export function checkThreads(options: ThreadOptions): void {
  checkOptions(options, optionNames, 'threads')
  const { count, memory } = options
  if (count !== undefined) checkCount('threads.count', count)
  if (memory !== undefined) checkCount('threads.memory', memory, leastMemory)
}

/** Starts no thread before there is a job for it. */
export function ownThreads({ count, memory }: ThreadOptions): ThreadPool {
  const resourceLimits: ResourceLimits | undefined =
    memory === undefined ? undefined : { maxOldGenerationSizeMb: Math.floor(memory / mebibyte) }
  return new ThreadPool({ threads: count, resourceLimits })
}
