/**
 * The campaigns of the shards that this server owns: creates them, reads those of an earlier owner, and forgets them
 * when a shard is lost (C1 to C9 of docs/design/store.md, L6, L12 of docs/design/fleet.md).
 */
import { randomUUID } from 'node:crypto'
import { HeddleError, openScope, type Scope } from '@heddle/core'
import {
  describe,
  endsBefore,
  Life,
  pauseFor,
  shardOf,
  waitFor,
  type Grant,
  type Kernel,
  type ServiceState,
  type ShardRole,
  type StopOptions,
  type TableRow,
  type Tables,
} from '@heddle/core/lowlevel'
import type { FleetWorker, WorkerDescription, WorkerIdentity } from '../fleet/fleet-worker.ts'
import type { LeaseBook } from '../fleet/lease-book.ts'
import type { CampaignSpec } from './campaign-spec.ts'
import { firstState, type CampaignParts } from './campaign-state.ts'
import { Campaign } from './campaign.ts'
import {
  campaignCreated,
  campaignRemoved,
  leaseForgotten,
  leasesRemoved,
  readClosedLeases,
  readLease,
  readOpen,
  type CampaignRecord,
  type LeaseRecord,
} from './records.ts'

export interface CampaignsOptions {
  readonly kernel: Kernel
  readonly ownership: { trusts(shard: number): boolean }
  readonly committer: { write(grant: Grant, rows: readonly TableRow[]): Promise<unknown> }
  readonly tables: Tables
  readonly book: LeaseBook
  /** How the results of a campaign are added up, and so on. */
  readonly partsOf: (spec: CampaignSpec) => CampaignParts
  /** The worker that a restored lease belongs to. */
  readonly workerOf: (description: WorkerDescription, identity: WorkerIdentity) => FleetWorker
  /** Units became open, or a campaign ended. */
  readonly onChange: (campaign: Campaign) => void
  /** What an operator should know. */
  readonly onProblem?: ((text: string) => void) | undefined
  readonly shards?: number
}

interface OwnedShard {
  readonly grant: Grant
  readonly campaigns: Set<Campaign>
  /** Ids of campaigns whose definition the module of this server does not have: another server may continue them. */
  readonly unknown: Set<string>
  isRead: boolean
  isLost: boolean
}

const readAgainAfter = 500
/** Leases in one batch. */
const removedTogether = 200
/** Campaigns that have ended and stay in memory, for late calls of their workers. */
const mostEnded = 200

export class Campaigns implements ShardRole {
  readonly #options: CampaignsOptions
  readonly #shards = new Map<number, OwnedShard>()
  readonly #campaigns = new Map<string, Campaign>()
  readonly #running = new Set<Campaign>()
  readonly #life: Life
  /** Reading of shards: stop() ends it and waits for it. */
  readonly #background: Scope
  readonly #reads = new Set<Promise<void>>()

  constructor(options: CampaignsOptions) {
    this.#options = options
    this.#background = openScope({ name: 'The campaigns', kernel: options.kernel })
    this.#life = new Life({
      what: 'The campaigns',
      clock: options.kernel.clock,
      deadline: 5_000,
      stop: (enough) => this.#stopAll(enough),
    })
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  async #stopAll(enough: AbortSignal): Promise<void> {
    const { clock } = this.#options.kernel
    this.#background.cancel(this.#life.closed(), { source: 'shutdown' })
    // Decisions are written; those that cannot be are decided again by the next owner.
    const all = [...this.#campaigns.values()]
    const saved = all.filter(({ isSaved }) => !isSaved).map((each) => each.saved())
    await endsBefore(enough, Promise.allSettled(saved), clock)
    for (const campaign of all) campaign.stop(this.#life.closed())
    // A read that the database does not answer changes nothing: it is left at the deadline, or after its grace.
    await endsBefore(enough, Promise.allSettled([this.#background.join()]), clock)
  }

  stats(): { state: ServiceState; campaigns: number; running: number } {
    const { state } = this.#life
    return { state, campaigns: this.#campaigns.size, running: this.#running.size }
  }

  /** Campaigns that may hand out units: this server is sure of their shard (L12). */
  *offering(): IterableIterator<Campaign> {
    const { ownership } = this.#options
    for (const campaign of this.#running) {
      if (campaign.phase === 'running' && ownership.trusts(this.#shardOf(campaign.id)))
        yield campaign
    }
  }

  get(id: string): Campaign | undefined {
    return this.#campaigns.get(id)
  }

  all(): IterableIterator<Campaign> {
    return this.#campaigns.values()
  }

  /** Whether this server answers for a campaign now. @throws `HDL_NOT_OWNER`. */
  checkOwner(id: string): void {
    const { unknown, grant } = this.#sureShard(this.#shardOf(id))
    if (!unknown.has(id)) return
    throw new HeddleError('HDL_NOT_OWNER', { shard: grant.shard, retryAfter: readAgainAfter })
  }

  /**
   * Makes a campaign; resolves when it is durable.
   * @throws `HDL_NOT_OWNER`, `HDL_STORE_FAILED`.
   */
  async create(spec: CampaignSpec, id: string = this.newId()): Promise<Campaign> {
    if (!this.#life.isRunning) throw this.#life.closed()
    const shard = this.#sureShard(this.#shardOf(id))
    const record: CampaignRecord = {
      id,
      tenant: spec.tenant,
      spec: JSON.stringify(spec),
      state: JSON.stringify(firstState(spec, this.#options.partsOf(spec))),
      ended: false,
      createdAt: this.#options.kernel.clock.wallTime(),
    }
    await this.#options.committer.write(shard.grant, campaignCreated(record))
    if (shard.isLost) throw new HeddleError('HDL_OWNERSHIP_LOST', shard.grant)
    const campaign = this.#adopt(record, shard)
    this.#options.onChange(campaign)
    return campaign
  }

  /**
   * Removes a campaign that has ended, with the records of its leases: some in each batch, the campaign last, so that a removal that
   * was cut off is repeated. Gives the number of leases.
   *
   * *Cancellation*: none; each batch is answered.
   * @throws `HDL_NOT_OWNER`, `HDL_OWNERSHIP_LOST`, `HDL_STORE_FAILED`.
   */
  async remove(id: string): Promise<number> {
    const { grant, campaigns } = this.#sureShard(this.#shardOf(id))
    const { tables, committer } = this.#options
    const campaign = this.#campaigns.get(id)
    // Rows of leases that its end has closed may be on their way.
    while (campaign?.isSaved === false) await campaign.saved()
    let leases = 0
    for (;;) {
      const some = await readClosedLeases(tables, id, 0, removedTogether)
      if (some.length === 0) break
      await committer.write(grant, leasesRemoved(some))
      leases += some.length
    }
    await committer.write(grant, campaignRemoved(id))
    if (campaign !== undefined) campaigns.delete(campaign)
    // After a take-over it is another object, read from the store.
    if (this.#campaigns.get(id) === campaign) this.#campaigns.delete(id)
    return leases
  }

  /** An id in a shard that this server owns: so a campaign is created where it is asked for. */
  newId(): string {
    let id = `c-${randomUUID().slice(0, 13)}`
    if (this.#shards.size === 0) return id
    while (!this.#shards.has(this.#shardOf(id))) id = `c-${randomUUID().slice(0, 13)}`
    return id
  }

  // ── Ownership ─────────────────────────────────────────────────────────────────────────────────

  acquired(grant: Grant): void {
    const shard: OwnedShard = {
      grant,
      campaigns: new Set(),
      unknown: new Set(),
      isRead: false,
      isLost: false,
    }
    this.#shards.set(grant.shard, shard)
    this.#owned.resolve()
    if (this.#unread.push(shard) > 1) return
    // Shards that are acquired together are read together.
    const read = this.#background.start(async ({ signal }) => {
      await Promise.resolve()
      await this.#readAll(this.#unread.splice(0), signal)
    })
    const end = (): void => void this.#reads.delete(read)
    this.#reads.add(read)
    read.then(end, end)
  }

  readonly #unread: OwnedShard[] = []

  lost(grant: Grant): void {
    const shard = this.#shards.get(grant.shard)
    if (shard?.grant.epoch !== grant.epoch) return
    this.#shards.delete(grant.shard)
    shard.isLost = true
    for (const campaign of shard.campaigns) {
      campaign.stop(new HeddleError('HDL_OWNERSHIP_LOST', grant))
      this.#options.book.drop(campaign)
      this.#campaigns.delete(campaign.id)
      this.#running.delete(campaign)
    }
  }

  resume(): void {
    for (const campaign of this.offering()) {
      this.#options.onChange(campaign)
      return
    }
  }

  isIdle(shard: number): boolean {
    const owned = this.#shards.get(shard)
    return owned === undefined || (owned.isRead && owned.campaigns.size === 0)
  }

  /** Resolves when the first shards were acquired and read, or after `deadline` milliseconds without any. */
  async waitOwned(deadline: number): Promise<void> {
    const { clock } = this.#options.kernel
    await waitFor(this.#owned.promise, 'The first shard', clock, { deadline }).catch(
      () => undefined,
    )
    await this.waitRead()
  }

  readonly #owned = Promise.withResolvers<void>()

  /** Resolves when everything acquired so far has been read. */
  async waitRead(): Promise<void> {
    while (this.#reads.size > 0) await Promise.allSettled(this.#reads)
  }

  async #readAll(shards: readonly OwnedShard[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.kernel
    for (let left = shards; !signal.aborted; await pauseFor(readAgainAfter, clock, signal)) {
      left = left.filter(({ isLost, isRead }) => !isLost && !isRead)
      if (left.length === 0) return
      try {
        const { tables } = this.#options
        const numbers = left.map(({ grant }) => grant.shard)
        const { campaigns, leases } = await readOpen(tables, numbers)
        if (signal.aborted) return
        const byCampaign = Map.groupBy(leases, ({ campaign }) => campaign)
        for (const shard of left) {
          if (shard.isLost) continue
          shard.isRead = true
          for (const record of campaigns) {
            if (this.#shardOf(record.id) !== shard.grant.shard) continue
            const own = byCampaign.get(record.id) ?? []
            byCampaign.delete(record.id)
            if (this.#hasParts(record)) this.#continue(record, shard, own)
            else shard.unknown.add(record.id)
          }
        }
        this.#forgetLeases([...byCampaign.values()].flat())
        return
      } catch {
        // The database is away: read again after a pause.
      }
    }
  }

  /** Whether this server can continue it. Its rows stay as they are when not. */
  #hasParts({ id, spec }: CampaignRecord): boolean {
    try {
      this.#options.partsOf(JSON.parse(spec) as CampaignSpec)
      return true
    } catch (error) {
      this.#options.onProblem?.(`Campaign ${id} is not continued here: ${describe(error)}`)
      return false
    }
  }

  #continue(record: CampaignRecord, shard: OwnedShard, leases: readonly LeaseRecord[]): void {
    const campaign = this.#adopt(record, shard)
    for (const lease of leases) {
      const holder = JSON.parse(lease.holder) as {
        description: WorkerDescription
        identity: WorkerIdentity
      }
      const worker = this.#options.workerOf(holder.description, holder.identity)
      this.#options.book.restore(campaign.restore(lease, worker))
    }
    this.#options.onChange(campaign)
  }

  /** Leases whose campaign has ended: its owner did not come to write that. */
  #forgetLeases(leases: readonly LeaseRecord[]): void {
    const byShard = Map.groupBy(leases.slice(0, 1_000), ({ campaign }) => this.#shardOf(campaign))
    for (const [number, some] of byShard) {
      const shard = this.#shards.get(number)
      if (shard === undefined) continue
      // Decisions that are not written now are made by the next owner.
      this.#options.committer
        .write(
          shard.grant,
          some.flatMap((lease) => leaseForgotten(lease)),
        )
        .catch(() => undefined)
    }
  }

  #adopt(record: CampaignRecord, shard: OwnedShard): Campaign {
    const { kernel, book, tables, committer, partsOf, onChange } = this.#options
    const spec = JSON.parse(record.spec) as CampaignSpec
    const campaign = new Campaign(record, shard.grant.epoch, partsOf(spec), {
      kernel,
      write: async (rows) => {
        await committer.write(shard.grant, rows)
      },
      changed: (changed) => {
        if (changed.phase === 'ended') this.#forgetLater(changed)
        onChange(changed)
      },
      closeLeases: (ended) => book.closeAll(ended, 'campaign_ended'),
      closedLease: (id) => readLease(tables, id),
    })
    shard.campaigns.add(campaign)
    this.#campaigns.set(campaign.id, campaign)
    this.#running.add(campaign)
    return campaign
  }

  /** Ended campaigns leave memory when enough others have ended: late calls are answered from the store then. */
  #forgetLater(campaign: Campaign): void {
    if (!this.#running.delete(campaign)) return
    const surplus = this.#campaigns.size - this.#running.size - mostEnded
    if (surplus <= 0) return
    for (const each of this.#campaigns.values()) {
      if (each.phase !== 'ended' || !each.isSaved) continue
      this.#campaigns.delete(each.id)
      this.#shards.get(this.#shardOf(each.id))?.campaigns.delete(each)
      return
    }
  }

  #shardOf(id: string): number {
    return shardOf(id, this.#options.shards)
  }

  #sureShard(number: number): OwnedShard {
    const shard = this.#shards.get(number)
    if (shard?.isRead === true && this.#options.ownership.trusts(number)) return shard
    throw new HeddleError('HDL_NOT_OWNER', { shard: number, retryAfter: readAgainAfter })
  }
}
