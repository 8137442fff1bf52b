/** Servers that run the real code of the store on one simulated database, and what must hold after every step. */
import assert from 'node:assert/strict'
import {
  AcknowledgedJobs,
  type JobRequest,
  type JobRow,
} from '../../../src/store/acknowledged-jobs.ts'
import { Committer } from '../../../src/store/committer.ts'
import type { CommitAnswer, Grant, ShardBatch } from '../../../src/store/database.ts'
import { Mailbox, type MailRow, type Message } from '../../../src/store/mailbox.ts'
import { MemoryDatabase } from '../../../src/store/memory/memory-database.ts'
import { Ownership } from '../../../src/store/ownership.ts'
import type { StoreRow } from '../../../src/store/roles.ts'
import { shardOf } from '../../../src/store/shard-of.ts'
import { Link } from './link.ts'
import { SimulatedProcess, World } from './world.ts'

/** Defects that can be planted: each must be found. */
export type Plant =
  | 'no epoch check'
  | 'lost answer taken for success'
  | 'margin zero'
  | 'session not fenced'
  | 'start without trust'
  | 'correctness depends on a wake'

export interface SimulationOptions {
  readonly seed: number
  readonly plant?: Plant
  /** Milliseconds of virtual time with faults; afterwards everything heals. */
  readonly faultsFor?: number
}

const shards = 8
const ttl = 6_000

/** Remembers what was written and by which epoch, so that rules can be checked that no reader could check. */
class WitnessedDatabase extends MemoryDatabase {
  readonly acknowledged = new Set<string>()
  /** Messages that were not taken yet. */
  readonly posted = new Set<string>()
  readonly written: number[] = []
  readonly #plant: Plant | undefined
  readonly #batches = new WeakSet<object>()
  readonly violations: string[] = []

  constructor(now: () => number, plant: Plant | undefined) {
    super(now, shards)
    this.#plant = plant
  }

  protected override isCurrent(grant: Grant): boolean {
    return this.#plant === 'no epoch check' || super.isCurrent(grant)
  }

  protected override apply(row: StoreRow, shard: number): void {
    if (row.kind === 'message-taken') {
      if (!this.posted.delete(row.id)) this.violations.push(`M1: message ${row.id} was taken twice`)
    }
    if (row.kind === 'job-acknowledged') {
      if (this.acknowledged.has(row.handle))
        this.violations.push(`C8: ${row.handle} was made twice`)
      this.acknowledged.add(row.handle)
    }
    if (row.kind === 'job-ended' && (this.outcomeOf(row.handle) ?? row.outcome) !== row.outcome) {
      this.violations.push(`A3: ${row.handle} has two outcomes`)
    }
    super.apply(row, shard)
  }

  override async commit(
    ...given: Parameters<MemoryDatabase['commit']>
  ): ReturnType<MemoryDatabase['commit']> {
    const [, , batches] = given
    const answer = await super.commit(...given)
    for (const [index, batch] of batches.entries()) {
      if (answer[index] !== undefined) continue
      this.#witness(batch)
      if (this.#batches.has(batch)) this.violations.push('C4: a write was written twice')
      this.#batches.add(batch)
    }
    return answer
  }

  #witness({ shard, epoch }: Grant): void {
    const newest = this.written[shard] ?? 0
    if (epoch < newest) {
      this.violations.push(`C2: epoch ${epoch} wrote to shard ${shard} after epoch ${newest}`)
    }
    this.written[shard] = Math.max(newest, epoch)
  }

  override async post(message: Message): Promise<void> {
    this.posted.add(message.id)
    await super.post(message)
  }

  override async fence(id: string): ReturnType<MemoryDatabase['fence']> {
    if (this.#plant !== 'session not fenced') return super.fence(id)
    return { last: 0, answer: [] }
  }
}

export class SimulatedServer {
  readonly id: string
  readonly process: SimulatedProcess
  readonly link: Link
  readonly ownership: Ownership
  readonly committer: Committer<JobRow | MailRow>
  readonly jobs: AcknowledgedJobs
  readonly mailbox: Mailbox<JobRow>
  readonly versions: ReadonlySet<string>
  running = 0

  constructor(cluster: Cluster, id: string, versions: ReadonlySet<string>) {
    const { world, database, plant } = cluster
    this.id = id
    this.versions = versions
    // Clocks of real machines differ by far less; a larger difference finds a missing margin sooner.
    this.process = new SimulatedProcess(world, world.between(0.95, 1.05))
    this.link = new Link(world, this.process)
    const kernel = { clock: this.process, random: world.random }
    const { link } = this
    this.ownership = new Ownership({
      server: id,
      kernel,
      shards,
      ttl,
      margin: plant === 'margin zero' ? 0 : 1_500,
      database: {
        renew: (...given) => link.call(() => database.renew(...given)),
        acquire: (...given) => link.call(() => database.acquire(...given)),
        release: (...given) => link.call(() => database.release(...given)),
      },
      listener: {
        acquired: (grant) => this.jobs.acquired(grant),
        lost: (grant) => this.jobs.lost(grant),
        renewed: () => this.jobs.resume(),
        mayRelease: (shard) => this.jobs.isIdle(shard),
      },
    })
    this.committer = new Committer<JobRow | MailRow>({
      server: id,
      kernel,
      mostRows: 16,
      answerWithin: 2_000,
      giveUpAfter: 10_000,
      database: {
        openSession: (...given) => link.call(() => database.openSession(...given)),
        commit: (...given) => this.#commit(cluster, ...given),
        fence: (...given) => link.call(() => database.fence(...given)),
      },
      onRefused: (grant) => this.ownership.refused(grant),
    })
    this.jobs = new AcknowledgedJobs({
      ownership:
        plant === 'start without trust'
          ? { trusts: (shard) => this.ownership.epochOf(shard) !== undefined, epochOf: () => 0 }
          : this.ownership,
      committer: this.committer,
      kernel,
      shards,
      database: { openJobs: (given) => link.call(() => database.openJobs(given)) },
      runner: {
        has: (_job, version) => versions.has(version),
        run: async (job, { signal, begin }) => {
          await begin()
          signal.throwIfAborted()
          cluster.checkStart(this, job)
          return cluster.runAttempt(this, job, signal)
        },
      },
    })
    this.mailbox = new Mailbox<JobRow>({
      ownership: this.ownership,
      committer: this.committer,
      clock: this.process,
      database: { messages: (given) => link.call(() => database.messages(given)) },
      readEvery: plant === 'correctness depends on a wake' ? Infinity : 1_000,
      deliver: ({ to }) => this.jobs.cancel(to),
    })
    void this.ownership.start()
    void this.mailbox.start()
  }

  async #commit(
    { database, plant }: Cluster,
    session: string,
    number: number,
    batches: readonly ShardBatch<JobRow | MailRow>[],
  ): Promise<CommitAnswer> {
    const answer = this.link.call(() => database.commit(session, number, batches))
    if (plant !== 'lost answer taken for success') return answer
    return answer.catch(() => batches.map(() => undefined))
  }
}

export class Cluster {
  readonly world: World
  readonly database: WitnessedDatabase
  readonly plant: Plant | undefined
  readonly servers: SimulatedServer[] = []
  /** Handles whose acknowledgement a caller has got. */
  readonly promised = new Set<string>()
  readonly requests: JobRequest[] = []
  readonly #attempts = new Map<string, number>()
  isDeployed = false
  #started = 0
  #messages = 0

  constructor({ seed, plant }: SimulationOptions) {
    this.world = new World(seed)
    this.plant = plant
    this.database = new WitnessedDatabase(() => this.world.now, plant)
    for (let count = 0; count < 3; count++) this.startServer()
  }

  /** C13: one server in three lacks the newer version of a job, until the deployment is complete. */
  startServer(): void {
    const id = `server-${++this.#started}`
    const versions = new Set(this.#started % 3 === 0 && !this.isDeployed ? ['1'] : ['1', '2'])
    this.servers.push(new SimulatedServer(this, id, versions))
  }

  get alive(): SimulatedServer[] {
    return this.servers.filter(({ process }) => !process.isDead)
  }

  /** A caller submits to one server after the other until one acknowledges. */
  submit(): void {
    const { world } = this
    const handle = `job-${this.requests.length}`
    const version = world.chance(0.2) ? '2' : '1'
    const request = { handle, job: 'work', version, input: new Uint8Array(0) }
    this.requests.push(request)
    const attempt = (): void => {
      const servers = this.alive.filter(({ process }) => process.isRunning)
      const server = servers[world.pick(servers.length)]
      if (server === undefined) return void world.after(1_000, attempt)
      let isAnswered = false
      const answer = (then: () => void): void => {
        if (!isAnswered) then()
        isAnswered = true
      }
      const again = (): void => answer(() => void world.after(world.between(100, 1_000), attempt))
      server.jobs
        .acknowledge(request)
        .then(() => answer(() => this.#promise(server, request)), again)
      // A caller whose server dies or does not answer asks another one.
      world.after(8_000, again)
    }
    attempt()
  }

  #promise(server: SimulatedServer, { handle }: JobRequest): void {
    this.promised.add(handle)
    const { sure: isSure } = server.ownership.stats()
    this.#expect(this.database.acknowledged.has(handle), `C3: ${handle} acknowledged, not written`)
    this.#expect(isSure, `C9: ${server.id} acknowledged ${handle} while it was unsure`)
  }

  /** Kept until the next check: an exception here would only reach the server's own code. */
  #expect(holds: boolean, rule: string): void {
    if (!holds) this.database.violations.push(rule)
  }

  /** A2. */
  checkStart(server: SimulatedServer, { handle }: JobRequest): void {
    const isTrusted = server.ownership.trusts(shardOf(handle, shards))
    this.#expect(isTrusted, `C9: ${server.id} started ${handle} while unsure`)
  }

  runAttempt(server: SimulatedServer, job: JobRequest, signal: AbortSignal): Promise<string> {
    const { handle, version } = job
    const { world } = this
    const isOpen = this.database.outcomeOf(handle) === undefined
    this.#expect(server.versions.has(version), `C13: ${server.id} ran version ${version}`)
    this.#expect(isOpen, `A3: ${handle} ran although its outcome was recorded`)
    const attempt = (this.#attempts.get(handle) ?? 0) + 1
    this.#attempts.set(handle, attempt)
    server.running++
    return new Promise((resolve, reject) => {
      const timer = server.process.setTimer(world.between(1, 3_000), () => {
        server.running--
        resolve(`${server.id} attempt ${attempt}`)
      })
      signal.addEventListener('abort', () => {
        timer.cancel()
        server.running--
        reject(signal.reason as Error)
      })
    })
  }

  /** A caller cancels a job by a message; half of the wakes are lost. */
  cancel(): void {
    const { world } = this
    const request = this.requests[world.pick(this.requests.length)]
    if (request === undefined) return
    const { handle } = request
    const id = `cancel-${handle}-${++this.#messages}`
    void this.database.post({ id, shard: shardOf(handle, shards), kind: 'cancel', to: handle })
    for (const { process, mailbox } of this.alive) {
      if (world.chance(0.5)) process.receive(() => mailbox.wake())
    }
  }

  /** What must hold at every moment. */
  check(): void {
    const [violation] = this.database.violations
    if (violation !== undefined) assert.fail(violation)
    const trusted: (string | undefined)[] = []
    for (const { id, ownership, process } of this.servers) {
      if (process.isDead) continue
      for (let shard = 0; shard < shards; shard++) {
        if (!ownership.trusts(shard)) continue
        const other = trusted[shard]
        if (other !== undefined) assert.fail(`C1: shard ${shard} is trusted by ${other} and ${id}`)
        trusted[shard] = id
      }
    }
  }

  /** The conditions once the faults are over and there was time to finish. */
  checkEnd(): void {
    const aside = new Set(
      this.alive.flatMap(({ jobs }) => jobs.setAside().map((job) => job.handle)),
    )
    const [left] = this.database.posted
    if (left !== undefined) assert.fail(`C7: message ${left} was never taken`)
    for (const { handle } of this.requests) {
      assert.ok(this.promised.has(handle), `C7: the caller of ${handle} has no answer`)
      const outcome = this.database.outcomeOf(handle)
      assert.ok(outcome !== undefined || aside.has(handle), `law 6: ${handle} has no outcome`)
    }
  }
}

/** Plays one history. Rejects with the rule that was broken. */
export async function simulate(options: SimulationOptions): Promise<Cluster> {
  // Stacks of the many errors of a cut link would take a third of the time.
  Error.stackTraceLimit = 0
  const cluster = new Cluster(options)
  const { world } = cluster
  const { faultsFor = 20_000 } = options
  const check = (): void => cluster.check()
  await world.run(3_000, check)
  for (let count = 0; count < 25; count++) {
    world.after(world.between(0, faultsFor), () => cluster.submit())
  }
  for (let count = 0; count < 8; count++) {
    world.after(world.between(0, faultsFor), () => cluster.cancel())
  }
  for (let count = 0; count < 6; count++) {
    world.after(world.between(0, faultsFor), () => strike(cluster))
  }
  await world.run(3_000 + faultsFor, check)
  for (const { process, link } of cluster.servers) {
    process.continue()
    link.isCut = false
  }
  cluster.isDeployed = true
  for (const { process, versions } of cluster.alive) if (!versions.has('2')) process.kill()
  while (cluster.alive.length < 3) cluster.startServer()
  await world.run(3_000 + faultsFor + 40_000, check)
  cluster.checkEnd()
  return cluster
}

/** Something goes wrong somewhere. */
function strike(cluster: Cluster): void {
  const { world, alive } = cluster
  const server = alive[world.pick(alive.length)]
  if (server === undefined) return cluster.startServer()
  switch (world.pick(4)) {
    case 0:
      server.process.kill()
      world.after(world.between(0, 10_000), () => cluster.startServer())
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
      return
    case 3:
      for (const { link } of alive) link.isCut = true
      world.after(world.between(100, 9_000), () => {
        for (const { link } of alive) link.isCut = false
      })
  }
}
