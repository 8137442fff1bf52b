/**
 * A PostgreSQL that is killed, whose disk is filled, and that is replaced by its replica.
 *
 *  D1  What it has acknowledged before a fault is there after it: `fsync` is on, and a replica is synchronous.
 *  D2  `port` is that of the primary at this moment: links ask for it whenever a server connects.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openPostgres, postgresOwner, type Keeper, type PostgresServer } from '@heddle/test-servers'
import { mountSmall, type Mounted } from '../../packages/core/test/journal/sqlite/mounted.ts'

const settings = [
  'max_connections=200',
  'max_wal_size=128MB',
  'wal_keep_size=64MB',
  // A replica that was refused asks again soon.
  'wal_retrieve_retry_interval=200ms',
]

/** Size of the small disk. */
const diskKibibytes = 384 * 1_024

export interface FaultyDatabaseOptions {
  /** Puts the data on a small disk of its own, which can be filled. */
  readonly isOnSmallDisk: boolean
}

export class FaultyDatabase implements AsyncDisposable {
  readonly #keeper: Keeper
  readonly #disk: Mounted | undefined
  /** Why its disk cannot be filled. */
  readonly noDisk: string | undefined
  #primary: PostgresServer
  #replicas = 0

  private constructor(
    keeper: Keeper,
    disk: Mounted | undefined,
    noDisk: string | undefined,
    primary: PostgresServer,
  ) {
    this.#keeper = keeper
    this.#disk = disk
    this.noDisk = noDisk
    this.#primary = primary
  }

  static async open(
    keeper: Keeper,
    { isOnSmallDisk }: FaultyDatabaseOptions,
  ): Promise<FaultyDatabase> {
    const mounted = isOnSmallDisk
      ? mountSmall(diskKibibytes, postgresOwner())
      : 'it is on a disk that other programs use'
    const disk = typeof mounted === 'string' ? undefined : mounted
    const parent = disk === undefined ? {} : { parent: disk.path }
    const noDisk = typeof mounted === 'string' ? mounted : undefined
    try {
      const primary = await openPostgres(keeper, { settings, ...parent })
      return new FaultyDatabase(keeper, disk, noDisk, primary)
    } catch (error) {
      disk?.[Symbol.dispose]()
      throw error
    }
  }

  get address(): string {
    return this.#primary.address
  }

  get port(): number {
    return Number(new URL(this.address).port)
  }

  /** SIGKILL, and a start after a while. */
  async killAndRestart(away: number): Promise<void> {
    await this.#primary.kill()
    await sleep(away)
    await this.#primary.start()
  }

  /** Leaves no byte on the disk for a while. */
  async fillDisk(during: number): Promise<void> {
    const ballast = path.join(this.#disk!.path, 'ballast')
    const file = openSync(ballast, 'w')
    try {
      const until = performance.now() + during
      do {
        // The database frees some space when it removes files: that is taken too.
        fill(file)
        await sleep(100)
      } while (performance.now() < until)
    } finally {
      closeSync(file)
      rmSync(ballast)
    }
    // It ends when it cannot recover on a full disk; otherwise it has recovered by itself.
    if (!(await this.#isListening())) await this.#primary.start()
  }

  /**
   * Gives the primary a synchronous replica, waits for it, and lets `load` pass. Then the primary is killed, and the replica is
   * the primary. Resolves when it is.
   */
  async failOver(load: () => Promise<void>): Promise<void> {
    const old = this.#primary
    await old.stop()
    const name = `replica-${++this.#replicas}`
    const parent = this.#disk === undefined ? {} : { parent: this.#disk.path }
    // The replica connects to the primary as soon as the primary is there.
    const replica = await openPostgres(this.#keeper, { settings, name, replicaOf: old, ...parent })
    await old.start(['synchronous_standby_names=*', 'synchronous_commit=on'])
    await this.#until(
      `SELECT count(*) AS n FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')`,
    )
    await load()
    await old.kill()
    this.#primary = replica
    await this.query('SELECT pg_promote(true, 60)')
    rmSync(old.data, { recursive: true, force: true })
  }

  /** Asks until there is an answer, for a minute. */
  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    const until = performance.now() + 60_000
    for (;;) {
      try {
        return await this.#ask<Row>(text, values)
      } catch (error) {
        if (performance.now() > until) throw error
        await sleep(50)
      }
    }
  }

  async count(text: string): Promise<number> {
    const [row] = await this.query<{ n: string }>(text)
    return Number(row!.n)
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disk?.[Symbol.dispose]()
    return Promise.resolve()
  }

  async #until(count: string): Promise<void> {
    while ((await this.count(count)) === 0) await sleep(50)
  }

  async #ask<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const client = new pg.Client({
      connectionString: this.address,
      connectionTimeoutMillis: 10_000,
      query_timeout: 60_000,
    })
    // Without a listener the end of the server would end this process.
    client.on('error', () => undefined)
    try {
      await client.connect()
      return (await client.query<Row>(text, [...values])).rows
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  async #isListening(): Promise<boolean> {
    for (let round = 0; round < 200; round++) {
      try {
        await this.#ask('SELECT 1', [])
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return false
        await sleep(50)
      }
    }
    return true
  }
}

function fill(file: number): void {
  for (let size = 4 * 2 ** 20; size >= 512;) {
    try {
      writeSync(file, Buffer.alloc(size))
    } catch {
      size /= 2
    }
  }
}
