/**
 * How much work waits for workers, as a row of each server in the database: what scales workers can ask for it with one statement
 * (deploy/fleet-backlog.sql). `/metrics` has the same numbers of one server.
 *
 *  G1  A row is written within `lookEvery` of a change, and at least every `freshFor / 3`: a row that is older than `freshFor` is of a
 *      server that is gone, whose work others have taken over.
 *  G2  A database that is away costs nothing but the row: it is written when the database is back.
 */
import {
  erase,
  Life,
  endsBefore,
  write,
  type Kernel,
  type StopOptions,
  type StoredRecord,
  type Table,
  type Tables,
  type Timer,
} from '@heddle/core/lowlevel'

export interface Backlog {
  /** Attempts of jobs that wait for a worker. */
  readonly waitingJobs: number
  /** Units of campaigns that no worker has. */
  readonly openUnits: number
  /** Leases that are held. */
  readonly leases: number
  /** Claims that wait for work: idle workers. */
  readonly waitingClaims: number
}

interface BacklogRecord extends StoredRecord, Backlog {
  /** By the clock of the database. Milliseconds since 1970. */
  readonly writtenAt: number
}

/** Shared: each server writes its own record. */
export const backlogTable: Table<BacklogRecord> = {
  name: 'fleet_backlog',
  columns: {
    waitingJobs: 'number',
    openUnits: 'number',
    leases: 'number',
    waitingClaims: 'number',
    writtenAt: 'number',
  },
  indexes: [['writtenAt']],
}

/** Milliseconds. */
const lookEvery = 2_000
/** As in deploy/fleet-backlog.sql. */
const freshFor = 90_000
/** A server that was never stopped leaves its record. */
const recordAge = 86_400_000

export interface BacklogReportOptions {
  readonly server: string
  readonly tables: Pick<Tables, 'now' | 'removeBelow' | 'change'>
  readonly kernel: Kernel
  readonly read: () => Backlog
}

export class BacklogReport {
  readonly #options: BacklogReportOptions
  readonly #life: Life
  #timer: Timer | undefined
  #last: Backlog | undefined
  #lastAt = -Infinity
  /** The write under way, which stop() waits for. */
  #writing: Promise<void> = Promise.resolve()

  constructor(options: BacklogReportOptions) {
    this.#options = options
    this.#life = new Life({
      what: 'The report of the backlog',
      clock: options.kernel.clock,
      deadline: 1_000,
      start: () => this.#lookLater(),
      stop: (enough) => this.#end(enough),
    })
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  #lookLater(): void {
    this.#timer = this.#options.kernel.clock.setTimer(lookEvery, () => {
      this.#writing = this.#look()
    })
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const found = this.#options.read()
    if (this.#isDue(found)) await this.#write(found).catch(() => undefined)
    if (this.#life.isRunning) this.#lookLater()
  }

  #isDue(found: Backlog): boolean {
    const { clock } = this.#options.kernel
    return clock.now() - this.#lastAt >= freshFor / 3 || !isSame(found, this.#last)
  }

  async #write(found: Backlog): Promise<void> {
    const { server, tables, kernel } = this.#options
    const at = kernel.clock.now()
    const writtenAt = await tables.now()
    if (this.#last === undefined) {
      await tables.removeBelow(backlogTable, 'writtenAt', writtenAt - recordAge)
    }
    await tables.change([write(backlogTable, { id: server, ...found, writtenAt })])
    this.#last = found
    this.#lastAt = at
  }

  async #end(enough: AbortSignal): Promise<void> {
    this.#timer?.cancel()
    const { server, tables, kernel } = this.#options
    const erased = this.#writing.then(() => tables.change([erase(backlogTable, server)]))
    // G1: a row that stays is too old soon.
    await endsBefore(
      enough,
      erased.catch(() => undefined),
      kernel.clock,
    )
  }
}

function isSame(one: Backlog, two: Backlog | undefined): boolean {
  return (
    one.waitingJobs === two?.waitingJobs &&
    one.openUnits === two.openUnits &&
    one.leases === two.leases &&
    one.waitingClaims === two.waitingClaims
  )
}
