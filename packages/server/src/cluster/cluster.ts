/**
 * A server among others on one PostgreSQL: its shards, the owners of the others, and how requests get there.
 *
 *   start ──▶ announce the address ──▶ acquire a share of 256 shards ──▶ continue their open jobs
 *   drain ──▶ what is cut off is put back ──▶ the shards are handed over at once
 *
 * Limits are counted in each process; those with `scope: 'cluster'` are shared (core/src/capacity/cluster-limits.ts).
 */
import { hostname } from 'node:os'
import { readFile } from 'node:fs/promises'
import { HeddleError } from '@heddle/core'
import {
  ClusterLimits,
  describe,
  newRunId,
  openStore,
  Shards,
  type ArtifactStore,
  type Capacity,
  type Clock,
  type Kernel,
  type OpenStore,
} from '@heddle/core/lowlevel'
import { fleetTables } from '../fleet/fleet-tables.ts'
import type { Drained, Room } from '../http/room.ts'
import type { StoreLedger } from '../jobs/store-ledger.ts'
import type { RepeatedLook } from '../repeated-look.ts'
import { ClusterForwarding } from './call-forwarding.ts'
import { Forwarder } from './forward.ts'
import { limitRecords, limitTable } from './limit-records.ts'
import { Members, serverTable } from './members.ts'
import { ResultTier, resultBodyTable, resultTable } from './result-tier.ts'
import { makeVersionWatch } from './version-watch.ts'

export interface ClusterOptions {
  /** Where other servers reach this one: `http://10.0.0.5:4500`. When absent, the address that it listens on. */
  readonly advertise?: string | undefined
  /** A file with the secret that servers of the cluster share; a second line is accepted too, during a rotation. */
  readonly secretFile?: string | undefined
  /** Keeps large results: the same for all servers. */
  readonly artifacts: ArtifactStore
}

/** Milliseconds for attempts that are still under way when the server has been drained. */
const stopWithin = 2_000

/** Jobs that are set aside and named in `/healthz`. */
const mostNamed = 20

export class Cluster {
  readonly database: OpenStore
  readonly shards: Shards
  readonly members: Members
  readonly forwarder: Forwarder
  readonly forwarding: ClusterForwarding
  readonly tier: ResultTier
  readonly #options: ClusterOptions
  readonly #clock: Clock
  #limits: ClusterLimits | undefined
  #ledger: StoreLedger | undefined
  #versions: RepeatedLook | undefined

  constructor(
    database: OpenStore,
    secrets: readonly string[],
    kernel: Kernel,
    options: ClusterOptions,
  ) {
    const { clock } = kernel
    this.#clock = clock
    this.database = database
    this.#options = options
    const server = `${hostname()}-${process.pid}-${newRunId(kernel)}`
    this.shards = new Shards({ server, database, kernel })
    this.members = new Members({ shards: this.shards, database, clock })
    this.forwarder = new Forwarder({ members: this.members, secrets, clock, useLinks: true })
    this.forwarding = new ClusterForwarding(this.forwarder)
    this.tier = new ResultTier({
      tables: database.tables,
      artifacts: options.artifacts,
      clock,
      server,
      checkOwner: (handle) => void this.shards.grantOf(handle),
    })
  }

  /** The ledger of this server: its jobs are listed, and are stopped before the shards are handed over. */
  watch(ledger: StoreLedger): void {
    this.#ledger = ledger
  }

  /** Takes part in the limits of all servers. Called once, before anything takes permits. */
  shareLimits(capacity: Capacity): void {
    const resources = capacity.clusterResources()
    if (resources.length === 0) return
    const records = limitRecords(this.database.tables)
    const { server } = this.shards
    this.#limits = new ClusterLimits({ server, records, clock: this.#clock, resources })
  }

  /**
   * From here on this server owns shards. *Cancellation*: none.
   *
   * @param onTooOld A newer server has changed the store, and this one has to stop.
   */
  async start(listensOn: string, onTooOld: (error: Error) => void): Promise<void> {
    // First: a stop during the start finds it.
    this.#versions = makeVersionWatch({ database: this.database, clock: this.#clock, onTooOld })
    await this.#versions.start()
    await this.members.announce(this.#options.advertise ?? listensOn)
    await this.#limits?.start()
    await this.shards.start()
  }

  /** Hands the shards over. Harmless twice. *Cancellation*: it ends within a few seconds. */
  async stop(): Promise<void> {
    await this.#versions?.stop()
    await this.#ledger?.acknowledged.stop({ deadline: stopWithin })
    await this.#limits?.stop()
    await this.shards.stop()
    this.forwarder.close()
    // A record that stays is removed later.
    await this.members.leave().catch(() => undefined)
  }

  /** Its part of `/healthz`, `/readyz` and `/metrics`. The life of the cluster is longer than that of rooms. */
  room(): Room {
    return {
      name: 'cluster',
      routes: [],
      start: async () => undefined,
      drain: async (): Promise<Drained> => ({ isClean: true }),
      stop: async () => undefined,
      stats: () => this.stats(),
      metrics: () => [],
      health: () => ({ cluster: this.stats() }),
      notReady: () =>
        this.stats().sure ? [] : ['the database has not renewed the lease of this server'],
    }
  }

  stats() {
    const { ownership, commits } = this.shards.stats()
    const jobs = this.#ledger?.acknowledged
    const all = this.#ledger?.setAside() ?? []
    const aside = all.filter(({ state }) => state === 'set_aside')
    return {
      server: this.shards.server,
      shards: ownership.shards,
      servers: ownership.servers,
      sure: ownership.sure,
      refused_batches: commits.refused,
      unknown_commits: commits.unknown,
      forwarded: this.forwarder.forwarded,
      forward_groups: this.forwarder.linkStats().groups,
      limits: this.#limits?.stats().shares ?? {},
      open_jobs: jobs?.stats().open ?? 0,
      set_aside: aside.length,
      set_aside_handles: aside.slice(0, mostNamed).map(({ handle }) => handle),
    }
  }
}

/**
 * Opens the store of a cluster.
 *
 * *Cancellation*: none; it ends when the database does not answer in time.
 * @throws `HDL_STORE_FAILED`, `HDL_BAD_OPTION` when the file of the secret cannot be used.
 */
export async function openCluster(
  address: string,
  kernel: Kernel,
  options: ClusterOptions,
): Promise<Cluster> {
  const secrets = await readSecrets(options)
  const tables = [serverTable, resultTable, resultBodyTable, limitTable, ...fleetTables]
  return new Cluster(await openStore(address, { tables, kernel }), secrets, kernel, options)
}

async function readSecrets({ secretFile, advertise }: ClusterOptions): Promise<readonly string[]> {
  if (secretFile === undefined) {
    // Without it a server that is reached over a network would trust every sender.
    if (advertise === undefined) return ['on one machine']
    const expected = 'the path of a file with the secret of the cluster, because advertise is given'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'clusterSecret', value: undefined, expected })
  }
  const text = await readFile(secretFile, 'utf8').catch((error: unknown) => {
    throw badSecret(secretFile, `a file that can be read (${describe(error)})`)
  })
  const secrets = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (secrets.length === 0 || secrets.length > 2 || secrets.some(({ length }) => length < 16)) {
    throw badSecret(secretFile, 'one or two lines of at least 16 characters')
  }
  return secrets
}

function badSecret(value: string, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_OPTION', { option: 'clusterSecret', value, expected })
}
