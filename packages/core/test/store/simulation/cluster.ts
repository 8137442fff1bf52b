/**
 * Servers that run the real code of the store on one simulated database, and what must hold after every step. They are put
 * together as the product does it (server/src/jobs/store-ledger.ts): each acknowledgement has an id of its own, `HANDLE NUMBER`, and
 * the shard is that of the handle. Requests arrive at any server, which sends them on to the owner (C6): that rule is played by
 * a model of server/src/cluster/forward.ts, because the real one sends HTTP.
 */
import assert from 'node:assert/strict'
import {
  AcknowledgedJobs,
  type JobRequest,
  type JobRow,
} from '../../../src/store/acknowledged-jobs.ts'
import { HeddleError, isError } from '../../../src/errors.ts'
import { Mailbox, type PostedMessage } from '../../../src/journal/mailbox.ts'
import { Committer } from '../../../src/store/committer.ts'
import type { CommitAnswer, Grant, ShardBatch } from '../../../src/store/database.ts'
import { MemoryDatabase } from '../../../src/store/memory/memory-database.ts'
import { Ownership } from '../../../src/store/ownership.ts'
import type { StoreRow } from '../../../src/store/roles.ts'
import { waitFor } from '../../../src/kernel/wait-for.ts'
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
  | 'not_owner taken for done'
  | 'a forwarded request is sent on'

export interface SimulationOptions {
  readonly seed: number
  readonly plant?: Plant
  /** Milliseconds of virtual time with faults; afterwards everything heals. */
  readonly faultsFor?: number
}

const shards = 8
const ttl = 6_000

/** Milliseconds in which the first server looks for the owner, and between two tries (C6). */
const forwardWithin = 6_000
const lookAgainAfter = 100

/** Milliseconds that a server waits for the answer of another one. */
const hopWithin = 3_000

const handleOf = (id: string): string => id.slice(0, id.indexOf(' '))

/** The shard of a handle, for an id too. */
const shardOfHandle = (handle: string): number => shardOf(handle, shards)

/** Remembers what was written and by which epoch, so that rules can be checked that no reader could check. */
class WitnessedDatabase extends MemoryDatabase {
  readonly acknowledged = new Set<string>()
  /** Jobs that callers were promised, and that have no outcome. */
  readonly promisedOpen = new Set<string>()
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
    if (row.kind === 'job-acknowledged') this.#checkNew(row.handle)
    if (row.kind === 'job-ended' && (this.outcomeOf(row.handle) ?? row.outcome) !== row.outcome) {
      this.violations.push(`A3: ${row.handle} has two outcomes`)
    }
    if (row.kind === 'job-ended') this.promisedOpen.delete(row.handle)
    super.apply(row, shard)
  }

  /** C8: a second request for a handle attaches to the job that was promised. */
  #checkNew(id: string): void {
    const other = [...this.promisedOpen].find((open) => handleOf(open) === handleOf(id))
    if (other !== undefined) this.violations.push(`C8: ${id} was made beside ${other}`)
    this.acknowledged.add(id)
  }

  /** Whether a grant is current, also where the epoch check is left out. */
  owns(grant: Grant): boolean {
    return super.isCurrent(grant)
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
  readonly committer: Committer<JobRow>
  readonly jobs: AcknowledgedJobs
  readonly mailbox: Mailbox
  /** Acknowledgements on their way, by handle. */
  readonly #acknowledging = new Map<string, Promise<string>>()
  readonly #cluster: Cluster
  readonly versions: ReadonlySet<string>
  running = 0

  constructor(cluster: Cluster, id: string, versions: ReadonlySet<string>) {
    const { world, database, plant } = cluster
    this.#cluster = cluster
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
        acquired: (grant) => this.#acquired(grant),
        lost: (grant) => this.#lost(grant),
        renewed: () => this.jobs.resume(),
        mayRelease: (shard) => this.jobs.isIdle(shard),
      },
    })
    this.committer = new Committer<JobRow>({
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
      shardOf: (jobId) => shardOfHandle(handleOf(jobId)),
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
    this.mailbox = new Mailbox({
      address: 'the simulation',
      clock: this.process,
      readEvery: plant === 'correctness depends on a wake' ? Infinity : 1_000,
      read: (wanted) => link.call(async () => cluster.messages(wanted)),
    })
    void this.ownership.start()
  }

  /** One run for each shard stands for the runs that the server writes: their mail goes to the owner. */
  readonly #runs = new Map<number, Grant>()

  #acquired(grant: Grant): void {
    this.jobs.acquired(grant)
    this.#runs.set(grant.shard, grant)
    const seen = new Set<number>()
    this.mailbox.add(grant.shard, {
      onMessage: (_, mail) => {
        this.#cluster.expect(!seen.has(mail), `M1: message ${mail} was delivered twice`)
        seen.add(mail)
        this.#takeMail(grant, mail)
      },
    })
    this.mailbox.wake()
  }

  #lost(grant: Grant): void {
    this.jobs.lost(grant)
    if (!this.#writes(grant)) return
    this.#runs.delete(grant.shard)
    this.mailbox.remove(grant.shard)
  }

  #writes({ shard, epoch }: Grant): boolean {
    return this.#runs.get(shard)?.epoch === epoch
  }

  /** Removes a message with the row that it leads to, until that is written or the run is lost. */
  #takeMail(grant: Grant, mail: number): void {
    if (!this.#writes(grant)) return
    const again = (): void => void this.process.setTimer(200, () => this.#takeMail(grant, mail))
    this.link.call(async () => this.#cluster.takeMail(this.id, grant, mail)).catch(again)
  }

  /** A request for a handle: carried out by the owner, sent on by any other server (C6). */
  async receive<T>(handle: string, act: (owner: SimulatedServer) => Promise<T>): Promise<T> {
    const until = this.process.now() + forwardWithin
    for (;;) {
      try {
        return await this.#carryOut(handle, act, 0)
      } catch (error) {
        if (this.process.now() >= until || isError(error, 'HDL_CLOSED')) throw error
        const isTaken = this.#cluster.plant === 'not_owner taken for done'
        if (isTaken && isError(error, 'HDL_NOT_OWNER')) return `${handle} never` as T
      }
      await new Promise<void>((resume) => this.process.setTimer(lookAgainAfter, resume))
    }
  }

  async #carryOut<T>(
    handle: string,
    act: (owner: SimulatedServer) => Promise<T>,
    hops: number,
  ): Promise<T> {
    const { database, plant, world } = this.#cluster
    const shard = shardOfHandle(handle)
    this.#cluster.expect(hops <= 1, `C6: a request for ${handle} was sent on ${hops} times`)
    if (this.ownership.trusts(shard)) return act(this)
    const mayForward = hops === 0 || plant === 'a forwarded request is sent on'
    const owners = mayForward ? await this.link.call(() => database.owners()) : []
    const name = owners[shard]
    const owner = this.#cluster.servers.find(({ id }) => id === name)
    if (owner === undefined || owner === this) {
      throw new HeddleError('HDL_NOT_OWNER', { shard, retryAfter: lookAgainAfter })
    }
    const hop = new Promise<T>((resolve, reject) => {
      const back = (answer: () => void): void =>
        void world.after(world.between(0.2, 20), () => this.process.receive(answer))
      world.after(world.between(0.2, 20), () =>
        owner.process.receive(() => {
          owner.#carryOut(handle, act, hops + 1).then(
            (answer) => back(() => resolve(answer)),
            (error: unknown) => back(() => reject(error)),
          )
        }),
      )
    })
    return waitFor(hop, 'A request to another server', this.process, { deadline: hopWithin })
  }

  /** Resolves when the job is durable, with its id: a new one, or the open one of that handle. */
  async submit(handle: string, version: string): Promise<string> {
    const shard = shardOfHandle(handle)
    await this.jobs.waitShardRead(shard, { deadline: hopWithin })
    const open = this.jobs.open(shard).find((id) => handleOf(id) === handle)
    const aside = this.jobs.setAside().find((job) => handleOf(job.handle) === handle)?.handle
    const known = open ?? aside
    if (known !== undefined && this.ownership.trusts(shard)) return known
    const underWay = this.#acknowledging.get(handle)
    if (underWay !== undefined) return underWay
    const id = `${handle} ${this.#cluster.nextNumber()}`
    const request = { handle: id, job: 'work', version, input: new Uint8Array(0) }
    const acknowledging = this.jobs.acknowledge(request).then(() => {
      this.#cluster.promise(this, id)
      return id
    })
    this.#acknowledging.set(handle, acknowledging)
    try {
      return await acknowledging
    } finally {
      this.#acknowledging.delete(handle)
    }
  }

  /** Ends the open jobs of a handle. Resolves when that is durable. */
  async cancel(handle: string): Promise<void> {
    const shard = shardOfHandle(handle)
    await this.jobs.waitShardRead(shard, { deadline: hopWithin })
    const ids = this.jobs.open(shard).filter((id) => handleOf(id) === handle)
    await Promise.all(ids.map((id) => this.jobs.end(id, 'cancelled')))
    const aside = this.jobs.setAside().filter((job) => handleOf(job.handle) === handle)
    for (const job of aside) await this.jobs.endSetAside(job.handle, 'cancelled')
    for (const id of [...ids, ...aside.map((job) => job.handle)]) {
      const hasEnd = this.#cluster.database.outcomeOf(id) !== undefined
      this.#cluster.expect(hasEnd, `C3: the cancel of ${id} was answered before it was written`)
    }
  }

  async #commit(
    { database, plant }: Cluster,
    session: string,
    number: number,
    batches: readonly ShardBatch<JobRow>[],
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
  /** Jobs whose acknowledgement the store has written, as their server knows. */
  readonly promised = new Set<string>()
  /** Handles that were asked for, each with the ids that its caller was answered with. */
  readonly requests = new Map<string, string[]>()
  /** Cancels that were not answered. */
  readonly cancelling = new Set<string>()
  /** Messages that were not taken, by number. */
  readonly posted = new Map<number, PostedMessage>()
  /** The right under which a message was taken. */
  readonly #takenBy = new Map<number, string>()
  readonly #attempts = new Map<string, number>()
  isDeployed = false
  #started = 0
  #messages = 0
  #numbers = 0

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

  /** A caller asks one server after the other until one answers. */
  #ask<T>(
    handle: string,
    act: (owner: SimulatedServer) => Promise<T>,
    onAnswer: (answer: T) => void,
  ): void {
    const { world } = this
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
      server.receive(handle, act).then((found) => answer(() => onAnswer(found)), again)
      // A caller whose server dies or does not answer asks another one.
      world.after(8_000, again)
    }
    attempt()
  }

  nextNumber(): number {
    return ++this.#numbers
  }

  submit(): void {
    const { world } = this
    const version = world.chance(0.2) ? '2' : '1'
    // Two callers may ask for the same.
    const isSecond = this.requests.size > 0 && world.chance(0.3)
    const handle = isSecond
      ? [...this.requests.keys()][world.pick(this.requests.size)]!
      : `job-${this.requests.size}-${version}`
    const ids = this.requests.get(handle) ?? []
    this.requests.set(handle, ids)
    const act = (owner: SimulatedServer): Promise<string> => owner.submit(handle, handle.at(-1)!)
    this.#ask(handle, act, (id) => {
      ids.push(id)
      this.expect(this.promised.has(id) || this.database.acknowledged.has(id), `C3: ${id} answered`)
    })
  }

  /** A job was acknowledged: its server may report it. */
  promise(server: SimulatedServer, id: string): void {
    this.promised.add(id)
    if (this.database.outcomeOf(id) === undefined) this.database.promisedOpen.add(id)
    const { sure: isSure } = server.ownership.stats()
    this.expect(this.database.acknowledged.has(id), `C3: ${id} acknowledged, not written`)
    this.expect(isSure, `C9: ${server.id} acknowledged ${id} while it was unsure`)
  }

  /** Kept until the next check: an exception here would only reach the server's own code. */
  expect(holds: boolean, rule: string): void {
    if (!holds) this.database.violations.push(rule)
  }

  /** A2. */
  checkStart(server: SimulatedServer, { handle }: JobRequest): void {
    const isTrusted = server.ownership.trusts(shardOfHandle(handleOf(handle)))
    this.expect(isTrusted, `C9: ${server.id} started ${handle} while unsure`)
  }

  runAttempt(server: SimulatedServer, job: JobRequest, signal: AbortSignal): Promise<string> {
    const { handle, version } = job
    const { world } = this
    const isOpen = this.database.outcomeOf(handle) === undefined
    this.expect(server.versions.has(version), `C13: ${server.id} ran version ${version}`)
    this.expect(isOpen, `A3: ${handle} ran although its outcome was recorded`)
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

  /** A caller cancels what it has asked for. */
  cancel(): void {
    const handle = [...this.requests.keys()][this.world.pick(this.requests.size)]
    if (handle === undefined) return
    const call = `${handle} ${this.nextNumber()}`
    this.cancelling.add(call)
    const act = (owner: SimulatedServer): Promise<void> => owner.cancel(handle)
    this.#ask(handle, act, () => this.cancelling.delete(call))
  }

  /** Another process posts a message to a run; half of the wakes are lost. */
  post(): void {
    const { world } = this
    const mail = ++this.#messages
    const rest = { kind: 'cancel', sender: 'a caller', name: null, value: null }
    this.posted.set(mail, { mail, run: world.pick(shards), ...rest })
    for (const { process, mailbox } of this.alive) {
      if (world.chance(0.5)) process.receive(() => mailbox.wake())
    }
  }

  messages(wanted: readonly (readonly [run: number, after: number])[]): readonly PostedMessage[] {
    const after = new Map(wanted)
    return [...this.posted.values()].filter(({ run, mail }) => mail > (after.get(run) ?? Infinity))
  }

  /** As the recorder of runs writes it: refused when the epoch is not current, and written once when it is sent again. */
  takeMail(server: string, grant: Grant, mail: number): void {
    if (this.plant !== 'no epoch check' && !this.database.owns(grant)) return
    const by = `${server}, epoch ${grant.epoch}`
    const before = this.#takenBy.get(mail)
    this.expect((before ?? by) === by, `M1: message ${mail} was taken by ${before} and ${by}`)
    this.#takenBy.set(mail, by)
    this.posted.delete(mail)
  }

  counts(): Readonly<Record<string, number>> {
    return {
      requests: this.requests.size,
      acknowledged: this.promised.size,
      messages: this.#messages,
      servers: this.#started,
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
    const [left] = this.posted.keys()
    if (left !== undefined) assert.fail(`C7: message ${left} was never taken`)
    const [cancel] = this.cancelling
    if (cancel !== undefined) assert.fail(`C7: the cancel of ${cancel} has no answer`)
    for (const [handle, ids] of this.requests) {
      assert.ok(ids.length > 0, `C7: the caller of ${handle} has no answer`)
    }
    for (const id of this.promised) {
      const outcome = this.database.outcomeOf(id)
      assert.ok(outcome !== undefined || aside.has(id), `law 6: ${id} has no outcome`)
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
  for (let count = 0; count < 4; count++) {
    world.after(world.between(0, faultsFor), () => cluster.cancel())
  }
  for (let count = 0; count < 6; count++) {
    world.after(world.between(0, faultsFor), () => cluster.post())
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
