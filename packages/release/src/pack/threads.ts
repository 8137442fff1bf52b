import { ThreadPool } from '@heddle/core/lowlevel'

/** Milliseconds a job has to remove its unfinished file, before its thread is ended. */
const grace = 10_000

let shared: ThreadPool | undefined

/** The threads that archives are made in, one for all calls. Idle they do not keep the process alive. */
export function packThreads(): ThreadPool {
  shared ??= new ThreadPool({ grace })
  return shared
}
