import { job } from '../graph/job.ts'

/** Fails once, then says in which attempt it succeeded. */
export const threadJob = job(
  { name: 'threaded', place: 'thread', module: import.meta.url, retries: 1 },
  (_: unknown, { attempt, log }) => {
    log(`attempt ${attempt}`)
    if (attempt === 0) throw new Error('no paper', { cause: new Error('no ink') })
    return `attempt ${attempt}`
  },
)
