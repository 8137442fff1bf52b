import { HeddleError } from '../../errors.ts'
import { systemClock } from '../../kernel/clock.ts'
import type { OpenJob } from '../acknowledged-jobs.ts'
import type {
  CommitAnswer,
  FenceAnswer,
  Grant,
  Refusal,
  Renewal,
  ServerId,
  SessionId,
  ShardBatch,
} from '../database.ts'
import type { StoreDatabase, StoreRow } from '../roles.ts'
import { TableList, type AnyTable } from '../tables.ts'
import { MemoryTables } from './memory-tables.ts'

/** The newest outcomes are kept, because memory is never pruned. */
const mostOutcomes = 10_000

interface Shard {
  owner: ServerId | undefined
  epoch: number
}

interface Session {
  fenced: boolean
  last: number
  answer: CommitAnswer
}

type Job = { -readonly [K in keyof OpenJob]: OpenJob[K] } & { readonly shard: number }

/**
 * A database that lives as long as the process, for tests and for programs that need no second life.
 * Every call is carried out in one step.
 */
export class MemoryDatabase implements StoreDatabase, AsyncDisposable {
  readonly tables: MemoryTables
  readonly #now: () => number
  readonly #shards: Shard[]
  /** When the lease of a server runs out. */
  readonly #leases = new Map<ServerId, number>()
  readonly #sessions = new Map<SessionId, Session>()
  readonly #jobs = new Map<string, Job>()
  readonly #outcomes = new Map<string, string>()
  /** Keyed by the first word of handles that have more than one. */
  readonly #families = new Map<string, Set<string>>()

  constructor(
    now: () => number,
    shards: number,
    tables: readonly AnyTable[] = [],
    wallTime: () => number = () => systemClock.wallTime(),
  ) {
    this.tables = new MemoryTables(new TableList(tables), wallTime)
    this.#now = now
    this.#shards = Array.from({ length: shards }, () => ({ owner: undefined, epoch: 0 }))
  }

  /** Other versions cannot reach it. */
  async checkVersion(): Promise<void> {}

  async openSession(_server: ServerId, session: SessionId): Promise<void> {
    // D4: a late copy of this call must not open a session that was fenced meanwhile.
    if (!this.#sessions.has(session)) this.#sessions.set(session, newSession())
  }

  async renew(server: ServerId, ttl: number): Promise<Renewal> {
    this.#leases.set(server, this.#now() + ttl)
    return { held: this.#heldBy(server), servers: this.#liveServers() }
  }

  async acquire(server: ServerId, most: number): Promise<readonly Grant[]> {
    if (!this.#isAlive(server)) return []
    const granted: Grant[] = []
    for (const [number, shard] of this.#shards.entries()) {
      if (granted.length === most) break
      if (shard.owner !== undefined && this.#isAlive(shard.owner)) continue
      shard.owner = server
      shard.epoch++
      granted.push({ shard: number, epoch: shard.epoch })
    }
    return granted
  }

  async release(server: ServerId, grants: readonly Grant[]): Promise<void> {
    for (const { shard: number, epoch } of grants) {
      const shard = this.#shards[number]!
      if (shard.owner === server && shard.epoch === epoch) shard.owner = undefined
    }
  }

  async owners(): Promise<readonly (ServerId | undefined)[]> {
    return this.#shards.map(({ owner }) => owner)
  }

  async commit(
    id: SessionId,
    number: number,
    batches: readonly ShardBatch<StoreRow>[],
  ): Promise<CommitAnswer> {
    const session = this.#sessions.get(id)
    if (session === undefined || session.fenced || session.last !== number - 1) {
      throw new HeddleError('HDL_STORE_FAILED', {
        store: 'The database',
        action: 'write a commit',
        cause: `commit ${number} does not follow in its session`,
      })
    }
    // D6: before anything is written.
    for (const { rows } of batches) {
      for (const row of rows)
        if (row.kind === 'put') this.tables.check({ name: row.table }, row.record)
    }
    session.last = number
    session.answer = batches.map((batch) => this.#write(batch))
    return session.answer
  }

  async fence(id: SessionId): Promise<FenceAnswer> {
    const session = this.#sessions.get(id) ?? newSession()
    session.fenced = true
    this.#sessions.set(id, session)
    return { last: session.last, answer: session.answer }
  }

  async openJobs(shards: readonly number[]): Promise<readonly OpenJob[]> {
    const wanted = new Set(shards)
    const open: OpenJob[] = []
    for (const { shard, ...job } of this.#jobs.values()) if (wanted.has(shard)) open.push(job)
    return open
  }

  async familyOutcomes(word: string): Promise<readonly string[]> {
    return [...(this.#families.get(word) ?? [])].toSorted()
  }

  /** The outcome of a job; undefined while it has none. */
  outcomeOf(handle: string): string | undefined {
    return this.#outcomes.get(handle)
  }

  /** Whether this epoch is the current one of its shard (D2). */
  protected isCurrent({ shard, epoch }: Grant): boolean {
    return this.#shards[shard]!.epoch === epoch
  }

  #write(batch: ShardBatch<StoreRow>): Refusal {
    if (!this.isCurrent(batch)) return 'epoch'
    for (const row of batch.rows) this.apply(row, batch.shard)
    return undefined
  }

  protected apply(row: StoreRow, shard: number): void {
    if (row.kind === 'put' || row.kind === 'remove') return this.tables.apply(row, shard)
    const { handle } = row
    const job = this.#jobs.get(handle)
    switch (row.kind) {
      case 'job-acknowledged': {
        // D5.
        if (job !== undefined) return
        const { job: name, version, input } = row
        const open = { started: false, interruptions: 0, setAside: false }
        this.#jobs.set(handle, { handle, job: name, version, input, ...open, shard })
        return
      }
      case 'job-started':
        if (job !== undefined) job.started = true
        return
      case 'job-interrupted':
        // D5: what interrupted the attempt is counted once.
        if (job?.started !== true) return
        job.started = false
        job.interruptions++
        job.setAside = row.setAside
        return
      case 'job-put-back':
        if (job !== undefined) job.started = false
        return
      case 'job-ended':
        if (this.#jobs.delete(handle)) this.#recordOutcome(handle, row.outcome)
    }
  }

  #recordOutcome(handle: string, outcome: string): void {
    this.#outcomes.set(handle, outcome)
    const word = wordOf(handle)
    if (word !== undefined) this.#families.set(word, familyWith(this.#families.get(word), outcome))
    if (this.#outcomes.size <= mostOutcomes) return
    const [oldest] = this.#outcomes.keys()
    this.#outcomes.delete(oldest!)
    const left = wordOf(oldest!)
    // Others of its family are younger, and come back with their next outcome.
    if (left !== undefined && left !== word) this.#families.delete(left)
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #isAlive(server: ServerId): boolean {
    return (this.#leases.get(server) ?? -Infinity) > this.#now()
  }

  #liveServers(): number {
    let live = 0
    for (const until of this.#leases.values()) if (until > this.#now()) live++
    return live
  }

  #heldBy(server: ServerId): Grant[] {
    const held: Grant[] = []
    for (const [shard, { owner, epoch }] of this.#shards.entries()) {
      if (owner === server) held.push({ shard, epoch })
    }
    return held
  }
}

/** The first word of a handle that has more than one. */
function wordOf(handle: string): string | undefined {
  const end = handle.indexOf(' ')
  return end < 0 ? undefined : handle.slice(0, end)
}

function familyWith(family: Set<string> | undefined, outcome: string): Set<string> {
  return (family ?? new Set<string>()).add(outcome)
}

function newSession(): Session {
  return { fenced: false, last: 0, answer: [] }
}
