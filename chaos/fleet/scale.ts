/**
 * The fleet in virtual time: the server's own code (leases, campaigns, group commit, ownership) with the database in
 * memory and workers that are rows of an array. It shows what depends on the number of workers: statements, memory, and
 * the consequences of an outage. What a request costs over HTTP is measured by `npm run test:load`.
 *
 *   ramp ─▶ steady ─▶ kill -9 of one server, with its connections ─▶ restart 5 s later ─▶ workers come back within 30 s
 *
 * Part of the workers is cut off for the time of a partition: they come back with their leases, or have lost them by
 * the rules. Part of all answers is lost until the outage is over, by the network and by the database: workers repeat
 * those calls.
 */
import { isError } from '@heddle/core'
import { seededRandom, type Random } from '@heddle/core/lowlevel'
import { DueHeap } from '../../bench/suites/fleet/due-heap.ts'
import { callOf, makeWorld, TestServer, type World } from '../../packages/server/test/fleet/kit.ts'
import type { Lease } from '../../packages/server/src/fleet/lease.ts'

export interface ScaleOptions {
  readonly workers: number
  /** A power of two up to 4. */
  readonly servers: number
  /** Seconds of virtual time between the ramp and the outage. */
  readonly steady: number
  readonly seed: number
  /** The part of the workers that is cut off in the steady phase, for a quarter of it and at most 100 s. */
  readonly partition: number
  /** The part of answers that never arrive. Default 0. */
  readonly loss?: number | undefined
}

export interface ScaleReport {
  readonly workers: number
  readonly servers: number
  /** Calls in the steady phase, each second of virtual time. */
  readonly callsPerSecond: number
  readonly commitsPerSecond: number
  readonly rowsPerSecond: number
  /** Bytes of the heap for each worker with its lease. */
  readonly bytesPerWorker: number
  /** Microseconds of this process for each call, without HTTP. */
  readonly cpuUsPerCall: number
  /** Milliseconds that the server which was started again needed to read and continue its leases. */
  readonly restoreMs: number
  /** Seconds from the restart until the first call of the last worker. */
  readonly backWithin: number
  /** The largest number of workers that came back in 100 ms, against the mean. */
  readonly herd: number
  /** Leases that the outage or the partition ended. Leases whose answer to the accept was lost are not counted here. */
  readonly lost: number
  /** Answers that never arrived. */
  readonly unheard: number
  /** Units that workers had acknowledged and the campaigns have not, or the other way round. */
  readonly difference: number
}

const rampSeconds = 60
const tick = 100
const updateEvery = 1_350_000
const cycleEvery = 1_800_000
const outage = 5_000
const backWithin = 30_000
/** Seconds of the longest partition: shorter than the stale period, so no lease may be lost by it. */
const longestPartition = 100

interface SimWorker {
  readonly index: number
  readonly server: number
  lease: Lease | undefined
  sequence: number
  done: number
  units: number
  progress: number
  life: number
  cutUntil: number
  /** A worker has one call about its lease under way; the next one waits for the answer. */
  isBusy: boolean
  /** A report that was sent and not answered: it is repeated before the worker believes that the lease has ended. */
  unanswered: 'update' | 'finish' | undefined
}

interface Due {
  readonly due: number
  readonly worker: SimWorker
  readonly kind: 'claim' | 'beat' | 'update' | 'finish'
  readonly life: number
}

class Simulation {
  readonly #options: ScaleOptions
  readonly #world: World
  readonly #random: Random
  readonly #servers: (TestServer | undefined)[] = []
  readonly #campaigns: string[] = []
  readonly #heap = new DueHeap<Due>()
  readonly #workers: SimWorker[] = []
  #calls = 0
  #lost = 0
  #unheard = 0
  #loss = 0
  #back: number[] | undefined
  #backFrom = 0
  readonly #heard = new Set<SimWorker>()

  constructor(options: ScaleOptions) {
    this.#options = options
    this.#world = makeWorld(options.seed)
    this.#random = seededRandom(options.seed + 7)
  }

  get #now(): number {
    return this.#world.clock.now()
  }

  async run(): Promise<ScaleReport> {
    const { workers, servers, steady, partition } = this.#options
    for (let index = 0; index < servers; index++) this.#servers.push(await this.#start())
    // Waits until each server has its share.
    await this.#advance(30_000)
    for (const server of this.#servers) {
      const campaign = await this.#world.clock.runUntil(server!.create({ units: 1e12 }))
      this.#campaigns.push(campaign.id)
    }
    const before = heapUsed()
    for (let index = 0; index < workers; index++) this.#addWorker(index)
    await this.#advance(rampSeconds * 1_000)
    const bytesPerWorker = Math.round((heapUsed() - before) / workers)

    this.#loss = this.#options.loss ?? 0
    this.#world.database.lossRate = this.#loss
    const begin = this.#counts()
    const cpu = process.cpuUsage()
    const cutFor = Math.min(longestPartition, steady / 4)
    await this.#advance((steady * 1_000) / 2)
    for (const worker of this.#workers) {
      if (this.#random.next() < partition) worker.cutUntil = this.#now + cutFor * 1_000
    }
    await this.#advance((steady * 1_000) / 2)
    const used = process.cpuUsage(cpu)
    const end = this.#counts()
    const calls = end.calls - begin.calls

    const restoreMs = await this.#outage()
    await this.#advance(backWithin + 5_000)
    this.#loss = 0
    this.#world.database.lossRate = 0
    // Unanswered calls are repeated, so both sides must agree.
    await this.#advance(30_000)
    const { seconds, herd } = this.#returned()
    return {
      workers,
      servers,
      callsPerSecond: Math.round(calls / steady),
      commitsPerSecond: round((end.commits - begin.commits) / steady),
      rowsPerSecond: round((end.rows - begin.rows) / steady),
      bytesPerWorker,
      cpuUsPerCall: round((used.user + used.system) / Math.max(1, calls)),
      restoreMs: Math.round(restoreMs),
      backWithin: seconds,
      herd,
      lost: this.#lost,
      unheard: this.#unheard,
      difference: this.#difference(),
    }
  }

  async #start(): Promise<TestServer> {
    const server = new TestServer(this.#world, { leasesPerAddress: 1e9, mostWorkers: 1e7 })
    return this.#world.clock.runUntil(server.start())
  }

  #addWorker(index: number): void {
    const { servers } = this.#options
    const worker: SimWorker = {
      index,
      server: index % servers,
      lease: undefined,
      sequence: 0,
      done: 0,
      units: 0,
      progress: 0,
      life: 0,
      cutUntil: 0,
      isBusy: false,
      unanswered: undefined,
    }
    this.#workers.push(worker)
    this.#later(worker, 'claim', this.#random.next() * rampSeconds * 1_000)
  }

  #later(worker: SimWorker, kind: Due['kind'], wait: number): void {
    this.#heap.push({ due: this.#now + wait, worker, kind, life: worker.life })
  }

  /** In ticks: calls that are due in one happen at its end, as if the network had taken that time. */
  async #advance(ms: number): Promise<void> {
    const until = this.#now + ms
    while (this.#now < until) {
      await this.#world.clock.advance(Math.min(tick, until - this.#now))
      const waits: Promise<void>[] = []
      for (let next = this.#heap.first; next !== undefined && next.due <= this.#now;) {
        this.#heap.pop()
        const wait = this.#play(next)
        if (wait !== undefined) waits.push(wait)
        next = this.#heap.first
      }
      if (waits.length > 0) await this.#world.clock.runUntil(Promise.all(waits))
    }
  }

  #play(due: Due): Promise<void> | undefined {
    const { worker, kind } = due
    if (due.life !== worker.life) return undefined
    if (worker.isBusy) {
      this.#heap.push({ ...due, due: this.#now + tick })
      return undefined
    }
    if (this.#now < worker.cutUntil) {
      this.#heap.push({ ...due, due: worker.cutUntil + this.#random.next() * backWithin })
      return undefined
    }
    const server = this.#servers[worker.server]
    // The worker comes back after the restart: see #outage.
    if (server === undefined) return undefined
    this.#calls++
    this.#noteBack(worker)
    if (kind === 'claim') return this.#claim(worker, server)
    const owner = this.#ownerOf(worker.lease!)
    // E2: a take-over is under way.
    if (owner === undefined) {
      this.#later(worker, kind, this.#random.next() * 5_000)
      return undefined
    }
    if (kind !== 'beat') return this.#report(worker, owner, kind)
    this.#beat(worker, owner)
    return undefined
  }

  /** E3: calls about a lease are forwarded to the server that has its campaign. */
  #ownerOf({ work }: Lease): TestServer | undefined {
    return this.#servers.find((server) => server?.campaigns.get(work.id) !== undefined)
  }

  #beat(worker: SimWorker, server: TestServer): void {
    try {
      const { nextBeat } = server.fleet.book.beat(callOf(worker.lease!), ++worker.progress)
      this.#later(worker, 'beat', this.#isUnheard() ? this.#random.next() * 5_000 : nextBeat)
    } catch (error) {
      this.#failed(worker, 'beat', error)
    }
  }

  /** A worker gives up a lease only when the server says that it has ended; everything else is repeated. */
  #failed(worker: SimWorker, kind: Due['kind'], error: unknown): void {
    if (isError(error, 'HDL_LEASE_ENDED') && worker.lease !== undefined) {
      if (kind === 'beat' && worker.unanswered !== undefined) return
      return this.#lose(worker)
    }
    this.#later(worker, kind, this.#random.next() * 5_000)
  }

  async #claim(worker: SimWorker, server: TestServer): Promise<void> {
    const id = `worker-${worker.index}`
    let lease: Lease
    try {
      // L5: it holds none. A lease whose answer it did not get is closed by this.
      const offer = await server.claim({ id, name: id }, { holds: [] })
      if ('reason' in offer) return this.#later(worker, 'claim', this.#random.next() * 5_000)
      lease = await server.fleet.accept(callOf(offer))
    } catch (error) {
      return this.#failed(worker, 'claim', error)
    }
    if (this.#isUnheard()) return this.#later(worker, 'claim', this.#random.next() * 5_000)
    worker.lease = lease
    worker.sequence = 0
    worker.done = 0
    const isFirst = worker.life === 0
    const part = (): number => (isFirst ? this.#random.next() : 0.9 + 0.2 * this.#random.next())
    this.#later(worker, 'beat', server.fleet.book.firstBeat(lease.work))
    this.#later(worker, 'update', part() * updateEvery)
    this.#later(worker, 'finish', part() * cycleEvery)
  }

  async #report(worker: SimWorker, server: TestServer, kind: 'update' | 'finish'): Promise<void> {
    const lease = worker.lease!
    const done = kind === 'finish' ? lease.size : Math.min(lease.size - 1, worker.done + 1)
    const report = { sequence: worker.sequence + 1, done, result: [done, 0, 0] }
    worker.isBusy = true
    worker.unanswered = kind
    try {
      const { closed } = await server.fleet.update(callOf(lease), report)
      if (this.#isUnheard()) return this.#later(worker, kind, this.#random.next() * 5_000)
      worker.unanswered = undefined
      worker.sequence++
      worker.done = done
      if (closed === undefined) return this.#later(worker, 'update', updateEvery)
      worker.units += done
      this.#endLease(worker)
    } catch (error) {
      this.#failed(worker, kind, error)
    } finally {
      worker.isBusy = false
    }
  }

  /** Whether the answer to a call is lost: the server has done the work, and the worker repeats the call. */
  #isUnheard(): boolean {
    const isUnheard = this.#loss > 0 && this.#random.next() < this.#loss
    if (isUnheard) this.#unheard++
    return isUnheard
  }

  #lose(worker: SimWorker): void {
    this.#lost++
    worker.units += worker.done
    this.#endLease(worker)
  }

  #endLease(worker: SimWorker): void {
    worker.lease = undefined
    worker.unanswered = undefined
    worker.done = 0
    worker.life++
    this.#later(worker, 'claim', 0)
  }

  /** kill -9 of the first server. Gives the milliseconds that the next one takes to continue. */
  async #outage(): Promise<number> {
    const [first] = this.#servers
    this.#servers[0] = undefined
    await first!.kill()
    await this.#advance(outage)
    const begin = performance.now()
    this.#servers[0] = await this.#start()
    // Its predecessor's lease runs out first; then all shards of it are read, here or by the other server.
    const held = (): number =>
      this.#servers.reduce((sum, server) => sum + server!.fleet.book.stats().held, 0)
    // A report that was not answered may have ended its lease.
    const isHeld = ({ lease, unanswered }: SimWorker): boolean =>
      lease !== undefined && unanswered === undefined
    const wanted = this.#workers.filter(isHeld).length
    for (let waited = 0; held() < wanted && waited < 300; waited++) await this.#advance(tick)
    const ms = performance.now() - begin
    this.#back = []
    this.#backFrom = this.#now
    for (const worker of this.#workers) {
      if (worker.server !== 0) continue
      const kind = worker.lease === undefined ? 'claim' : (worker.unanswered ?? 'beat')
      // Calls that became due while the server was away come later: a beat comes first.
      worker.life++
      this.#later(worker, kind, this.#random.next() * backWithin)
      if (kind !== 'claim') this.#later(worker, 'finish', cycleEvery)
    }
    return ms
  }

  #noteBack(worker: SimWorker): void {
    if (this.#back === undefined || worker.server !== 0 || this.#heard.has(worker)) return
    this.#heard.add(worker)
    this.#back.push(this.#now - this.#backFrom)
  }

  #returned(): { seconds: number; herd: number } {
    const times = this.#back ?? []
    const last = times.at(-1) ?? 0
    const slots = new Map<number, number>()
    for (const at of times) {
      const slot = Math.floor(at / tick)
      slots.set(slot, (slots.get(slot) ?? 0) + 1)
    }
    let most = 0
    for (const count of slots.values()) most = Math.max(most, count)
    const mean = times.length / Math.max(1, last / tick)
    return { seconds: round(last / 1_000), herd: round(most / mean) }
  }

  #counts(): { calls: number; commits: number; rows: number } {
    let [commits, rows] = [0, 0]
    for (const server of this.#servers) {
      const stats = server!.committer.stats()
      commits += stats.commits
      rows += stats.rows
    }
    return { calls: this.#calls, commits, rows }
  }

  #difference(): number {
    const acknowledged = this.#workers.reduce((sum, { units, done }) => sum + units + done, 0)
    let counted = 0
    for (const id of this.#campaigns) {
      const campaign = this.#servers.map((server) => server!.campaigns.get(id)).find(Boolean)
      counted += campaign?.done ?? 0
    }
    return counted - acknowledged
  }
}

function heapUsed(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

export function simulateScale(options: ScaleOptions): Promise<ScaleReport> {
  return new Simulation(options).run()
}
