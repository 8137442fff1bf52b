import type { Job, JobContext } from '../graph/job.ts'

/**
 * Where jobs run. Users may implement it, for instance to send jobs to their own cluster; it must
 * settle soon after `context.signal` aborts.
 */
export interface Place {
  run(job: Job, input: unknown, context: JobContext): unknown
}
