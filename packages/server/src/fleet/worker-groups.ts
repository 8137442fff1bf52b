/**
 * Workers by tenant and by their capabilities. A fleet has few kinds of workers, however many machines: questions about
 * all workers are answered from the kinds.
 *
 *  K1  Every worker that the fleet knows is in the group of its tenant, capabilities and jobs, as it described itself
 *      last.
 *  K2  `busy` of a group is the number of its workers that have a lease. Nothing is counted by walking.
 */
import type { FleetWorker, WorkerDescription, WorkerIdentity } from './fleet-worker.ts'

export class WorkerGroup {
  readonly tenant: string
  readonly capabilities: ReadonlySet<string>
  readonly #jobs: ReadonlySet<string>
  readonly workers = new Set<FleetWorker>()
  busy = 0

  constructor({ tenant }: WorkerIdentity, { capabilities, jobs }: WorkerDescription) {
    this.tenant = tenant
    this.capabilities = new Set(capabilities)
    this.#jobs = new Set(jobs.map(({ name, version }) => jobKey(name, version)))
  }

  hasAll(capabilities: readonly string[]): boolean {
    return capabilities.every((each) => this.capabilities.has(each))
  }

  hasJob(name: string, version: string): boolean {
    return this.#jobs.has(jobKey(name, version))
  }
}

/** Counts of the workers of one tenant, or of all. */
export interface WorkerCounts {
  readonly workers: number
  /** Workers that have a lease, offered or held. */
  readonly active: number
}

export class WorkerGroups {
  readonly #byTenant = new Map<string, Map<string, WorkerGroup>>()

  /** Puts a worker into its group, again when it describes itself in another way. */
  put(worker: FleetWorker): void {
    const { description, identity } = worker
    const key = JSON.stringify([description.capabilities, description.jobs])
    let groups = this.#byTenant.get(identity.tenant)
    let group = groups?.get(key)
    if (group !== undefined && group === worker.group) return
    this.remove(worker)
    groups = this.#byTenant.get(identity.tenant)
    if (groups === undefined) this.#byTenant.set(identity.tenant, (groups = new Map()))
    group = groups.get(key)
    if (group === undefined) groups.set(key, (group = new WorkerGroup(identity, description)))
    group.workers.add(worker)
    if (worker.leases.size > 0) group.busy++
    worker.group = group
    worker.groupKey = key
  }

  remove(worker: FleetWorker): void {
    const { group, groupKey } = worker
    if (group === undefined) return
    worker.group = undefined
    group.workers.delete(worker)
    if (worker.leases.size > 0) group.busy--
    if (group.workers.size > 0) return
    const groups = this.#byTenant.get(group.tenant)
    groups?.delete(groupKey)
    if (groups?.size === 0) this.#byTenant.delete(group.tenant)
  }

  get isEmpty(): boolean {
    return this.#byTenant.size === 0
  }

  of(tenant: string): Iterable<WorkerGroup> {
    return this.#byTenant.get(tenant)?.values() ?? []
  }

  counts(tenant: string): WorkerCounts {
    let [workers, active] = [0, 0]
    for (const group of this.of(tenant)) {
      workers += group.workers.size
      active += group.busy
    }
    return { workers, active }
  }

  *workers(tenant: string): Generator<FleetWorker, void, undefined> {
    for (const group of this.of(tenant)) yield* group.workers
  }
}

function jobKey(name: string, version: string): string {
  return JSON.stringify([name, version])
}
