import { HeddleError } from '@heddle/core'
import { jobTable } from './jobs/job-table.ts'
import { graphTable } from './runs/graph-table.ts'
import { exportedSchedules } from './schedules/schedule-definition.ts'

/**
 * Checks that a served module, or a list of jobs, has something to serve: a module without it is the mistake that is made most often.
 *
 * @throws `HDL_BAD_OPTION` when it has no job, graph or schedule, or one of them is wrong.
 */
export function checkServed(
  exported: Readonly<Record<string, unknown>> | readonly unknown[],
): void {
  const jobs = jobTable(exported)
  // With those of its schedules.
  const { graphs } = exportedSchedules(exported, graphTable(exported))
  if (jobs.size + graphs.size > 0) return
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'jobs',
    value: 'nothing that can be served',
    expected: 'at least one exported job(…), serveJob(…), graph or schedule(…)',
  })
}
