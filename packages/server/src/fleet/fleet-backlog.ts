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
  write,
  type Kernel,
  type StopOptions,
  type StoredRecord,
  type Table,
  type Tables,
} from '@heddle/core/lowlevel'
import { RepeatedLook } from '../repeated-look.ts'

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
  /** Time on the clock of the database, in milliseconds since 1970. */
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
/** The same period as in deploy/fleet-backlog.sql. */
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
  readonly #looks: RepeatedLook
  #last: Backlog | undefined
  #lastAt = -Infinity

  constructor(options: BacklogReportOptions) {
    this.#options = options
    this.#looks = new RepeatedLook({
      what: 'The report of the backlog',
      clock: options.kernel.clock,
      deadline: 1_000,
      first: lookEvery,
      look: () => this.#look(),
      end: () => this.#erase(),
    })
  }

  start(): Promise<void> {
    return this.#looks.start()
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#looks.stop(options)
  }

  /** Never rejects. */
  async #look(): Promise<number> {
    const found = this.#options.read()
    if (this.#isDue(found)) await this.#write(found).catch(() => undefined)
    return lookEvery
  }

  /** Never rejects. G1: a row that stays is too old soon. */
  async #erase(): Promise<void> {
    const { server, tables } = this.#options
    await tables.change([erase(backlogTable, server)]).catch(() => undefined)
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
}

function isSame(one: Backlog, two: Backlog | undefined): boolean {
  return (
    one.waitingJobs === two?.waitingJobs &&
    one.openUnits === two.openUnits &&
    one.leases === two.leases &&
    one.waitingClaims === two.waitingClaims
  )
}
