import { final } from '../attempts/retry.ts'
import { job } from '../graph/job.ts'

/** Values other than text that a job may log. */
export const notText: readonly unknown[] = [5, { pages: [3n] }, undefined, [null]]
export const notTextRows = [
  'log 0 5',
  'log 0 { pages: [ 3n ] }',
  'log 0 undefined',
  'log 0 [ null ]',
]

/** Fails once, then says in which attempt it succeeded. */
export const threadJob = job(
  { name: 'threaded', place: 'thread', module: import.meta.url, retries: 1 },
  (_: unknown, { attempt, log }) => {
    log(`attempt ${attempt}`)
    if (attempt === 0) throw new Error('no paper', { cause: new Error('no ink') })
    return `attempt ${attempt}`
  },
)

/** Throws an error that must not be retried. */
export const finalThreadJob = job(
  { name: 'final-in-a-thread', place: 'thread', module: import.meta.url, retries: 2 },
  (_: unknown, { attempt, log }) => {
    log(`attempt ${attempt}`)
    throw final(new Error('never'))
  },
)

/** Logs values that are not text. */
export const loggingThreadJob = job(
  { name: 'logs-in-a-thread', place: 'thread', module: import.meta.url },
  (_: unknown, { log }) => {
    for (const value of notText) log(value)
  },
)
