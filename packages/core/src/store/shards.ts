/**
 * The shards of one server: ownership and group commit put together, and the roles that live on them.
 *
 *   Ownership ──acquired, lost, renewed──▶ roles ──rows──▶ Committer ──refused──▶ Ownership
 *
 *  S1  A role knows a shard only between acquired() and lost(), and writes with the given grant.
 *  S2  Roles are added before the start: each is notified of every shard.
 *  S3  stop() hands the shards over before it ends group commit: writes of a role in between are refused, not lost.
 */
import { HeddleError } from '../errors.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { Life, type Service, type ServiceState, type StopOptions } from '../kernel/service.ts'
import { Committer, type CommitterStats } from './committer.ts'
import type { Grant, ServerId } from './database.ts'
import { Ownership, type OwnershipOptions, type OwnershipStats } from './ownership.ts'
import type { StoreDatabase, StoreRow } from './roles.ts'
import { shardCount, shardOf } from './shard-of.ts'

/** A role whose state is kept in memory by the owner of a shard. Called on the loop. Must not throw. */
export interface ShardRole {
  /** The shard belongs to this server: read the rows of an earlier owner, then continue its work. */
  acquired(grant: Grant): void
  /** The shard is not this server's any more: discard its state, abort its attempts. */
  lost(grant: Grant): void
  /** The server is sure of all its shards again: start what waited for that. */
  resume(): void
  /** Whether nothing of the shard is under way here, so that another server may have it. */
  isIdle(shard: number): boolean
}

export interface ShardsOptions extends Pick<
  OwnershipOptions,
  'ttl' | 'margin' | 'renewEvery' | 'scanEvery'
> {
  /**
   * Whether no other server can use the store, as a lock of the system proves (C10). The lease is long then: it need not be
   * renewed to be trusted. Default false.
   */
  readonly isAlone?: boolean
  /** Unique for each start of a process. */
  readonly server: ServerId
  readonly database: StoreDatabase
  readonly kernel: Kernel
}

const optionNames = {
  isAlone: 1,
  server: 1,
  database: 1,
  kernel: 1,
  ttl: 1,
  margin: 1,
  renewEvery: 1,
  scanEvery: 1,
} satisfies OptionNames<ShardsOptions>

/** Milliseconds. */
const day = 86_400_000
const aloneTimes = { ttl: 30 * day, renewEvery: 7 * day }

export interface ShardsStats {
  readonly state: ServiceState
  readonly ownership: OwnershipStats
  readonly commits: CommitterStats
}

export class Shards implements Service {
  readonly server: ServerId
  readonly ownership: Ownership
  readonly committer: Committer<StoreRow>
  readonly #roles: ShardRole[] = []
  readonly #life: Life

  constructor(options: ShardsOptions) {
    checkOptions(options, optionNames)
    const { server, database, kernel } = options
    this.server = server
    this.committer = new Committer<StoreRow>({
      server,
      database,
      kernel,
      onRefused: (grant) => this.ownership.refused(grant),
    })
    const { isAlone = false, ...times } = options
    this.ownership = new Ownership({
      ...(isAlone && aloneTimes),
      ...times,
      listener: {
        acquired: (grant) => this.#each((role) => role.acquired(grant)),
        lost: (grant) => this.#each((role) => role.lost(grant)),
        renewed: () => this.#each((role) => role.resume()),
        mayRelease: (shard) => this.#roles.every((role) => role.isIdle(shard)),
      },
    })
    this.#life = new Life({
      what: 'The shards of this server',
      clock: kernel.clock,
      deadline: 10_000,
      start: () => {
        this.committer.reopen()
        return this.ownership.start()
      },
      stop: async (enough) => {
        await this.ownership.stop({ signal: enough })
        await this.committer.stop({ signal: enough })
      },
    })
  }

  /** S2. */
  add(role: ShardRole): void {
    this.#roles.push(role)
  }

  /** Looks for shards from here on. *Cancellation*: stop() ends it. */
  start(): Promise<void> {
    return this.#life.start()
  }

  /**
   * Hands all shards over, then ends group commit. It can be started again.
   *
   * *Cancellation*: it ends at the deadline; other shards are free when the lease runs out.
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  /** The right to write things with this name (a run, a handle, a campaign). @throws `HDL_NOT_OWNER`. */
  grantOf(name: string): Grant {
    const shard = shardOf(name)
    const epoch = this.ownership.trusts(shard) ? this.ownership.epochOf(shard) : undefined
    if (epoch === undefined) {
      throw new HeddleError('HDL_NOT_OWNER', { shard, retryAfter })
    }
    return { shard, epoch }
  }

  /** See {@link Committer.write}. *Cancellation*: none. *Fairness*: in the order of the calls. */
  write(grant: Grant, rows: readonly StoreRow[]): Promise<void> {
    return this.committer.write(grant, rows)
  }

  /** Whether this server owns every shard, and is sure of it: so it is with SQLite and in memory. */
  get ownsAll(): boolean {
    const { shards, sure } = this.ownership.stats()
    return sure && shards === shardCount
  }

  stats(): ShardsStats {
    return {
      state: this.#life.state,
      ownership: this.ownership.stats(),
      commits: this.committer.stats(),
    }
  }

  #each(call: (role: ShardRole) => void): void {
    for (const role of this.#roles) call(role)
  }
}

/** Milliseconds after which a shard that is being taken over has an owner, most likely. */
const retryAfter = 500
