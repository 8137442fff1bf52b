/** Servers that share a limit, killed, stopped and cut off from the store, in virtual time. */
import assert from 'node:assert/strict'
import {
  ClusterLimits,
  type LimitRecord,
  type LimitRecords,
} from '../../src/capacity/cluster-limits.ts'
import { ClusterPermits } from '../../src/capacity/cluster-permits.ts'
import { Seniority, SharedResource, Waiter, refused } from '../../src/capacity/shared-resource.ts'
import { Link } from '../store/simulation/link.ts'
import { SimulatedProcess, World } from '../store/simulation/world.ts'

export const plants = [
  'margin zero',
  'no revision',
  'trust without end',
  'lost answer taken for success',
  'raised before it is written',
  'divided too early',
] as const
export type Plant = (typeof plants)[number]

/** One record, as a database keeps it. */
class Store {
  record: (LimitRecord & { readonly revision: number }) | undefined

  write(record: LimitRecord, expect: 'absent' | number, isChecked: boolean): boolean {
    const { revision } = this.record ?? { revision: 'absent' as const }
    if (isChecked && revision !== expect) return false
    this.record = { ...record, revision: (this.record?.revision ?? 0) + 1 }
    return true
  }
}

/** A server with attempts that take one permit each. */
class Server {
  readonly id: string
  readonly process: SimulatedProcess
  readonly link: Link
  readonly meter: ClusterPermits
  readonly limits: ClusterLimits
  readonly #resource: SharedResource
  readonly #waiter: Waiter
  readonly #cluster: Cluster
  readonly #attempts = new Set<{ isStray: boolean }>()
  /** Whether it trusts its share, leaving planted defects aside. */
  readonly isSure: () => boolean
  queued = 0

  constructor(cluster: Cluster, id: string) {
    const { world, store, plant } = cluster
    this.id = id
    this.#cluster = cluster
    this.process = new SimulatedProcess(world, world.between(0.95, 1.05))
    this.link = new Link(world, this.process)
    this.meter = new ClusterPermits(cluster.limit)
    this.#resource = new SharedResource('license', this.meter, {
      clock: this.process,
      aging: 1_000,
    })
    this.#waiter = new Waiter(new Seniority(), () => this.#startQueued())
    const write = async (record: LimitRecord, expect: 'absent' | number): Promise<boolean> =>
      store.write(record, expect, plant !== 'no revision')
    const records: LimitRecords = {
      read: () => {
        this.markStrays()
        return this.link.call(async () => store.record)
      },
      write: async (record, expect) => {
        if (plant === 'raised before it is written') this.meter.capacity = record.shares[id]!.count
        const written = this.link.call(() => write(record, expect)).finally(() => this.markStrays())
        return plant === 'lost answer taken for success' ? written.catch(() => true) : written
      },
    }
    this.limits = new ClusterLimits({
      server: id,
      records,
      clock: this.process,
      resources: [this.#resource as SharedResource & { readonly meter: ClusterPermits }],
      ...(plant === 'margin zero' && { margin: 0 }),
      // One server in two is in a hurry.
      ...(plant === 'divided too early' &&
        cluster.servers.length % 2 === 0 && { ttl: 2_000, margin: 500 }),
    })
    this.isSure = this.meter.isTrusted
    if (plant === 'trust without end') this.meter.isTrusted = () => true
    void this.limits.start()
  }

  /** Attempts that run, and count: those of a dead process do not run, and strays do not count. */
  get counted(): number {
    if (this.process.isDead) return 0
    return [...this.#attempts].filter(({ isStray }) => !isStray).length
  }

  /**
   * The known limit: attempts of a server that has lost its share continue beside those of the servers that took it.
   */
  markStrays(): void {
    if (this.isSure()) return
    for (const attempt of this.#attempts) attempt.isStray = true
  }

  submit(): void {
    this.process.receive(() => {
      this.queued++
      this.#startQueued()
    })
  }

  #startQueued(): void {
    while (this.queued > 0) {
      if (this.#resource.admits(this.#waiter, 1, 1) === refused) {
        this.#resource.join(this.#waiter, 1, 1)
        return
      }
      this.#resource.take(this.#waiter, 1, 1, false)
      this.queued--
      const attempt = { isStray: false }
      this.#attempts.add(attempt)
      this.#cluster.started(this)
      const { world } = this.#cluster
      const longest = world.chance(0.1) ? 15_000 : 2_000
      this.process.setTimer(world.between(10, longest), () => {
        this.#attempts.delete(attempt)
        this.#resource.giveBack(1, 0)
        this.#startQueued()
      })
    }
    this.#resource.leave(this.#waiter)
  }
}

class Cluster {
  readonly world: World
  readonly store = new Store()
  readonly limit: number
  readonly plant: Plant | undefined
  readonly servers: Server[] = []
  violation: string | undefined
  attempts = 0

  constructor(seed: number, plant: Plant | undefined) {
    this.world = new World(seed)
    this.plant = plant
    this.limit = 1 + this.world.pick(5)
    for (let count = 0; count < 3; count++) this.startServer()
  }

  get alive(): Server[] {
    return this.servers.filter(({ process }) => !process.isDead)
  }

  startServer(): void {
    this.servers.push(new Server(this, `server-${this.servers.length}`))
  }

  /** E1, E2: the attempts of all servers, the new one included. */
  started(server: Server): void {
    this.attempts++
    for (const each of this.servers) if (each !== server) each.markStrays()
    const used = this.servers.reduce((sum, { counted }) => sum + counted, 0)
    if (used > this.limit) this.violation ??= `${used} of ${this.limit} are in use, by ${server.id}`
  }

  check(): void {
    for (const server of this.servers) server.markStrays()
    if (this.violation !== undefined) assert.fail(this.violation)
  }
}

/** The events of one seed. */
export type LimitCounts = Readonly<Record<'servers' | 'attempts', number>>

/** Throws when a limit is exceeded, or when an attempt waits for ever. */
export async function simulate(seed: number, plant?: Plant): Promise<LimitCounts> {
  Error.stackTraceLimit = 0
  const cluster = new Cluster(seed, plant)
  const { world } = cluster
  const check = (): void => cluster.check()
  for (let count = 0; count < 60; count++) {
    world.after(world.between(0, 20_000), () => {
      const { alive } = cluster
      alive[world.pick(alive.length)]?.submit()
    })
  }
  for (let count = 0; count < 5; count++) {
    world.after(world.between(1_000, 20_000), () => strike(cluster))
  }
  await world.run(30_000, check)
  for (const { process, link } of cluster.servers) {
    process.continue()
    link.isCut = false
  }
  for (let until = 40_000; until <= 330_000; until += 10_000) {
    await world.run(until, check)
    if (cluster.alive.every(({ queued }) => queued === 0)) break
  }
  // Nothing waits for ever, on whichever server it is.
  for (const { id, queued } of cluster.alive) assert.equal(queued, 0, `${id} still waits`)
  return { servers: cluster.servers.length, attempts: cluster.attempts }
}

function strike(cluster: Cluster): void {
  const { world, alive } = cluster
  const server = alive[world.pick(alive.length)]
  if (server === undefined) return
  switch (world.pick(3)) {
    case 0:
      server.process.kill()
      world.after(world.between(0, 5_000), () => cluster.startServer())
      return
    case 1:
      server.process.stop()
      world.after(world.between(100, 12_000), () => server.process.continue())
      return
    case 2:
      server.link.isCut = true
      world.after(world.between(100, 12_000), () => {
        server.link.isCut = false
      })
  }
}
