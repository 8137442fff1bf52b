/** Why an attempt has no worker, and why a worker cannot have an attempt. */
import type { FleetNeeds } from '@heddle/core/lowlevel'
import { commonTenant } from '../http/caller.ts'
import type { FleetWorker, Refusal } from './fleet-worker.ts'
import type { WorkerGroup, WorkerGroups } from './worker-groups.ts'

/** Workers that are named. */
const named = 5

/**
 * For what explain() says: `no worker with capability gpu (2 connected: ann, bob)`. Workers of other tenants are not named (W9). Its cost
 * depends on the kinds of workers, not on their number.
 */
export function whyWaiting(
  { job, version, capabilities, tenant = commonTenant }: FleetNeeds,
  connected: WorkerGroups,
): string {
  const groups = [...connected.of(tenant)]
  if (groups.length === 0) {
    const isOnly = connected.isEmpty && tenant === commonTenant
    return isOnly ? 'no worker is connected' : `no worker of tenant ${tenant} is connected`
  }
  const there = describeWorkers(groups)
  const able = groups.filter((group) => group.hasAll(capabilities))
  if (able.length === 0) {
    const missing = capabilities.find((each) =>
      groups.every((group) => !group.capabilities.has(each)),
    )
    return `no worker with capability ${missing ?? capabilities.join(' and ')} (${there})`
  }
  const has = able.filter((group) => group.hasJob(job, version))
  if (has.length === 0) return `no worker has ${job} version ${version} (${there})`
  const busy = has.reduce((sum, group) => sum + group.busy, 0)
  return `${busy} of ${countOf(has)} workers that can run it are busy (${there})`
}

/** `2 connected: ann, bob` */
function describeWorkers(groups: readonly WorkerGroup[]): string {
  const count = countOf(groups)
  const names = [...firstNames(groups)]
  return `${count} connected: ${names.join(', ')}${count > named ? ', …' : ''}`
}

function* firstNames(groups: readonly WorkerGroup[]): Generator<string, void, undefined> {
  let left = named
  for (const { workers } of groups) {
    for (const worker of workers) {
      if (left-- === 0) return
      yield worker.name
    }
  }
}

function countOf(groups: readonly WorkerGroup[]): number {
  return groups.reduce((sum, { workers }) => sum + workers.size, 0)
}

/** Why this worker cannot run it; undefined when it can. */
export function refusalOf(
  worker: FleetWorker,
  { job, version, capabilities }: FleetNeeds,
): Refusal | undefined {
  const { description } = worker
  const missing = capabilities.find((each) => !description.capabilities.includes(each))
  if (missing !== undefined) {
    return { reason: 'capability', message: `job ${job} needs capability ${missing}` }
  }
  const versions = description.jobs.filter((each) => each.name === job).map((each) => each.version)
  if (versions.length === 0)
    return { reason: 'capability', message: `job ${job} waits, which this worker does not have` }
  if (versions.includes(version)) return noPlaceFor(worker, job)
  const message = `job ${job} waits in version ${version}; this worker has ${versions.join(', ')}`
  return { reason: 'version', message }
}

/** It has the job, and every place where it could run it is taken: its claim may wait for other work. */
export function noPlaceFor({ description }: FleetWorker, job: string): Refusal | undefined {
  if (description.full?.includes(job) !== true) return undefined
  return { reason: 'no_work', message: `this worker has no place free for job ${job}` }
}
