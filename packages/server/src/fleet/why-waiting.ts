/** Why an attempt has no worker, and why a worker cannot have an attempt. */
import type { FleetNeeds } from '@heddle/core/lowlevel'
import { commonTenant } from '../http/caller.ts'
import type { FleetWorker, Refusal } from './fleet-worker.ts'

/** Workers that are named. */
const named = 5

/** For what explain() says: `no worker with capability gpu (2 connected: ann, bob)`. Workers of other tenants are not named (W9). */
export function whyWaiting(
  { job, version, capabilities, tenant = commonTenant }: FleetNeeds,
  connected: Iterable<FleetWorker>,
): string {
  const all = [...connected]
  const workers = all.filter((worker) => worker.serves(tenant))
  if (workers.length === 0) {
    const isOnly = all.length === 0 && tenant === commonTenant
    return isOnly ? 'no worker is connected' : `no worker of tenant ${tenant} is connected`
  }
  const names = workers.slice(0, named).map(({ name }) => name)
  const there = `${workers.length} connected: ${names.join(', ')}${workers.length > named ? ', …' : ''}`
  const able = workers.filter(({ description }) =>
    capabilities.every((each) => description.capabilities.includes(each)),
  )
  if (able.length === 0) {
    const missing = capabilities.find((each) =>
      workers.every(({ description }) => !description.capabilities.includes(each)),
    )
    return `no worker with capability ${missing ?? capabilities.join(' and ')} (${there})`
  }
  const has = able.filter(({ description }) =>
    description.jobs.some((each) => each.name === job && each.version === version),
  )
  if (has.length === 0) return `no worker has ${job} version ${version} (${there})`
  const busy = has.filter(({ leases }) => leases.size > 0).length
  return `${busy} of ${has.length} workers that can run it are busy (${there})`
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
  if (versions.includes(version)) return undefined
  const message = `job ${job} waits in version ${version}; this worker has ${versions.join(', ')}`
  return { reason: 'version', message }
}
