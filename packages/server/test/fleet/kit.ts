import { HeddleError } from '@heddle/core'
import { seededRandom, type Kernel, type Random, type StoreRow } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { Committer } from '../../../core/src/store/committer.ts'
import { MemoryDatabase } from '../../../core/src/store/memory/memory-database.ts'
import { Ownership } from '../../../core/src/store/ownership.ts'
import { partsAmong } from '../../src/campaigns/built-in-parts.ts'
import { campaignSpec, type CampaignSpec } from '../../src/campaigns/campaign-spec.ts'
import type { Campaign } from '../../src/campaigns/campaign.ts'
import { Campaigns } from '../../src/campaigns/campaigns.ts'
import { exportedCampaigns, type OwnCampaign } from '../../src/campaigns/own-campaign.ts'
import type { WorkerDescription, WorkerIdentity } from '../../src/fleet/fleet-worker.ts'
import { readOpen, type LeaseRecord } from '../../src/campaigns/records.ts'
import { FleetJobs } from '../../src/fleet/fleet-jobs.ts'
import { Fleet, type FleetOptions } from '../../src/fleet/fleet.ts'
import type { Lease } from '../../src/fleet/lease.ts'
import { fleetTables } from '../../src/fleet/fleet-tables.ts'

/** Tests use few shards, so that a take-over moves everything at once. */
const shards = 4

/** A database whose answers may be lost, before or after the call was carried out. */
export class FaultyDatabase extends MemoryDatabase {
  /** Each draw below `lossRate` loses a commit or its answer. */
  lossRate = 0
  random: Random = seededRandom(1)
  isAway = false

  override async commit(
    ...args: Parameters<MemoryDatabase['commit']>
  ): ReturnType<MemoryDatabase['commit']> {
    if (this.isAway) throw away()
    const isLost = this.random.next() < this.lossRate
    if (isLost && this.random.next() < 0.5) throw away()
    const answer = await super.commit(...args)
    if (isLost) throw away()
    return answer
  }

  override async fence(
    ...args: Parameters<MemoryDatabase['fence']>
  ): ReturnType<MemoryDatabase['fence']> {
    if (this.isAway) throw away()
    return super.fence(...args)
  }

  override async renew(
    ...args: Parameters<MemoryDatabase['renew']>
  ): ReturnType<MemoryDatabase['renew']> {
    if (this.isAway) throw away()
    return super.renew(...args)
  }
}

function away(): HeddleError {
  return new HeddleError('HDL_STORE_FAILED', {
    store: 'The database',
    action: 'answer',
    cause: 'it is away',
  })
}

export interface World {
  readonly clock: VirtualClock
  readonly kernel: Kernel
  readonly database: FaultyDatabase
}

export function makeWorld(seed = 1): World {
  const clock = new VirtualClock()
  const random = seededRandom(seed)
  const database = new FaultyDatabase(() => clock.now(), shards, fleetTables)
  database.random = seededRandom(seed + 1_000_000)
  return { clock, kernel: { clock, random }, database }
}

let servers = 0

/** A server's half of the fleet, on a database that may outlive it. */
export class TestServer {
  readonly world: World
  readonly ownership: Ownership
  readonly committer: Committer<StoreRow>
  readonly fleet: Fleet
  readonly campaigns: Campaigns
  readonly jobs: FleetJobs

  /** The messages of campaigns to the operator. */
  readonly problems: string[] = []

  constructor(
    world: World,
    options: Partial<FleetOptions> & { readonly own?: readonly OwnCampaign[] } = {},
  ) {
    const { own, ...fleetOptions } = options
    const { kernel, database } = world
    const server = `server-${++servers}`
    this.world = world
    this.ownership = new Ownership({
      server,
      database,
      kernel,
      shards,
      listener: {
        acquired: (grant) => {
          this.campaigns.acquired(grant)
          this.jobs.acquired(grant)
        },
        lost: (grant) => {
          this.campaigns.lost(grant)
          this.jobs.lost(grant)
        },
        renewed: () => this.fleet.wake(),
        mayRelease: (shard) => this.campaigns.isIdle(shard) && this.jobs.isIdle(shard),
      },
    })
    this.committer = new Committer({
      server,
      database,
      kernel,
      answerWithin: 500,
      giveUpAfter: 2_000,
      onRefused: (grant) => this.ownership.refused(grant),
    })
    this.fleet = new Fleet({ kernel, ...fleetOptions })
    this.campaigns = new Campaigns({
      kernel,
      ownership: this.ownership,
      committer: this.committer,
      tables: database.tables,
      book: this.fleet.book,
      partsOf: partsAmong(exportedCampaigns(own)),
      onProblem: (text) => this.problems.push(text),
      workerOf: (description, identity) => this.fleet.worker(description, identity),
      onChange: () => this.fleet.wake(),
      shards,
    })
    const { book } = this.fleet
    this.jobs = new FleetJobs({
      kernel,
      ownership: this.ownership,
      committer: this.committer,
      tables: database.tables,
      onWaiting: () => this.fleet.wake(),
      askStop: (lease, reason) => book.askStop(lease, reason),
      close: (lease, why) => book.close(lease, why),
      restore: (lease) => book.restore(lease),
      drop: (shard) => book.drop(shard),
      workerOf: (description, identity) => this.fleet.worker(description, identity),
      workers: this.fleet.groups,
      readResult: async ({ run, artifact }) => `${artifact} of ${run}`,
      shards,
    })
    this.fleet.attach({ campaigns: this.campaigns, jobs: this.jobs })
  }

  async start(): Promise<this> {
    await this.fleet.start()
    await this.ownership.start()
    await this.world.clock.settle()
    await this.campaigns.waitRead()
    await this.jobs.waitRead()
    return this
  }

  /** Simulates kill -9: nothing is written, its timers stop. */
  async kill(): Promise<void> {
    for (const campaign of this.campaigns.all()) campaign.stop(new Error('killed'))
    for (let shard = 0; shard < shards; shard++) {
      const epoch = this.ownership.epochOf(shard)
      if (epoch !== undefined) this.jobs.lost({ shard, epoch })
    }
    await this.committer.stop({ deadline: 0 })
    await this.fleet.stop({ deadline: 0 })
    const stopping = this.ownership.stop({ deadline: 0 })
    await this.world.clock.settle()
    await stopping
  }

  async stop(): Promise<void> {
    await this.world.clock.runUntil(this.campaigns.stop())
    await this.kill()
  }

  create(spec: Partial<CampaignSpec> = {}): Promise<Campaign> {
    return this.campaigns.create(
      campaignSpec({ name: 'c', job: 'play', units: 1_000, outcomes: ['L', 'D', 'W'], ...spec }),
    )
  }

  async claim(
    worker: string | Partial<WorkerDescription>,
    extra: {
      request?: string
      wait?: number
      identity?: Partial<WorkerIdentity>
      holds?: string[]
    } = {},
  ): Promise<Lease | { reason: string; message: string }> {
    const description = describeWorker(worker)
    const answer = await this.fleet.claim({
      description,
      identity: { owner: 'ann', tenant: 'default', address: '10.0.0.1', ...extra.identity },
      request: extra.request ?? `r${++requests}`,
      wait: extra.wait ?? 0,
      holds: extra.holds,
    })
    return answer.kind === 'offer' ? answer.lease : answer
  }

  /** Claims and accepts. */
  async lease(
    worker: string | Partial<WorkerDescription>,
    identity: Partial<WorkerIdentity> = {},
  ): Promise<Lease> {
    const offer = await this.claim(worker, { identity })
    if ('reason' in offer) throw new Error(offer.message)
    return this.fleet.accept(callOf(offer))
  }
}

/** The leases that the store has as open. */
export async function openLeases({ database }: World): Promise<readonly LeaseRecord[]> {
  return (await readOpen(database.tables, [0, 1, 2, 3])).leases
}

let requests = 0

function describeWorker(worker: string | Partial<WorkerDescription>): WorkerDescription {
  const given = typeof worker === 'string' ? { id: worker } : worker
  return {
    id: given.id ?? 'w',
    name: given.name ?? given.id ?? 'w',
    threads: 1,
    memory: 1_000,
    capabilities: [],
    tags: [],
    system: 'linux-x64',
    jobs: [{ name: 'play', version: '1' }],
    ...given,
  }
}

export function callOf({ id, epoch, worker }: Lease): {
  lease: string
  epoch: number
  worker: string
} {
  return { lease: id, epoch, worker: worker.id }
}
