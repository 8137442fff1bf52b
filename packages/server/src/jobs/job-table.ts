/** The jobs that a server serves, by the name in their address. */
import { HeddleError, Scheduler, isError, type Job } from '@heddle/core'
import { suggest, type Capacity } from '@heddle/core/lowlevel'
import { serveExported, type ServedJob } from './served-job.ts'

export type JobTable = ReadonlyMap<string, ServedJob>

/**
 * Finds the jobs in a list, or in the exports of a module: other exports are skipped.
 *
 * @throws `HDL_BAD_OPTION` when two have one name.
 */
export function jobTable(
  exported: Readonly<Record<string, unknown>> | readonly unknown[] | undefined,
): JobTable {
  if (exported === undefined) return new Map()
  if (typeof exported !== 'object' || exported === null) {
    const expected = 'a list of jobs, or the exports of a module'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'jobs', value: exported, expected })
  }
  const values = Array.isArray(exported) ? exported : Object.values(exported).flat()
  const table = new Map<string, ServedJob>()
  // A module may export a job by name and in its default list.
  for (const value of new Set(values)) {
    const served = isServed(value) ? value : isJob(value) ? serveExported(value) : undefined
    if (served === undefined) continue
    if (table.has(served.name)) {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'jobs',
        value: `two jobs named "${served.name}"`,
        expected: 'one job for each name',
      })
    }
    table.set(served.name, served)
  }
  return table
}

/**
 * Jobs that could never start are found before the server listens, not by its first client. Needs that depend on the
 * input are checked with each request.
 *
 * @throws `HDL_BAD_OPTION`, `HDL_WOULD_DEADLOCK`, each with the name of the job.
 */
export function checkNeeds(table: JobTable, capacity: Capacity): void {
  for (const { name, prepare, item } of table.values()) {
    for (const job of item === undefined ? [prepare] : [prepare, item]) {
      if (typeof job.needs !== 'object') continue
      const scheduler = new Scheduler({ capacity, concurrency: Infinity })
      try {
        scheduler.add(name, { needs: job.needs, place: job.place })
      } catch (error) {
        if (!isError(error, 'HDL_BAD_OPTION')) throw error
        const { option, value, expected } = error.details
        const named = { option: `${option} of job ${job.name}`, value, expected }
        throw new HeddleError('HDL_BAD_OPTION', named)
      }
    }
  }
}

/** @throws `HDL_UNKNOWN_JOB`. */
export function findJob(table: JobTable, name: string): ServedJob {
  const found = table.get(name)
  if (found !== undefined) return found
  throw new HeddleError('HDL_UNKNOWN_JOB', {
    job: name,
    suggestion: suggest(name, [...table.keys()]),
  })
}

function isServed(value: unknown): value is ServedJob {
  return isObject(value) && value['isServed'] === true
}

function isJob(value: unknown): value is Job {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    typeof value['run'] === 'function' &&
    typeof value['place'] === 'string'
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
