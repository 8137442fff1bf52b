/**
 * Two servers on one PostgreSQL, 200 clients in 8 processes and 8 `heddle work`, through every accident. Each unit is counted exactly
 * once: the leases that the database has in the end cover all units, and none twice.
 *
 *   start ─▶ kill -9 of a server ─▶ its restart ─▶ the other stands still (SIGSTOP) ─▶ it goes on ─▶ PostgreSQL ends and starts again ─▶ end
 *      all the time: `heddle work` processes are killed and started again
 */
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CleanupStack, openStore, seededRandom, type Random } from '@heddle/core/lowlevel'
import { openKeeper, openPostgres } from '@heddle/test-servers'
import { endsWithin } from '../../bench/suites/fleet/ends-within.ts'
import { readClosedLeases } from '../../packages/server/src/campaigns/records.ts'
import { fleetTables } from '../../packages/server/src/fleet/fleet-tables.ts'

export interface AccidentOptions {
  readonly units: number
  /** Milliseconds that a unit takes. */
  readonly unitMs: number
  readonly clients: number
  readonly processes: number
  /** Processes of `heddle work`. */
  readonly work: number
  /** Milliseconds between two accidents. */
  readonly pause: number
  /** Milliseconds that a server stands still. */
  readonly stillFor: number
  readonly seed: number
}

export interface AccidentReport {
  readonly seconds: number
  readonly units: number
  /** Taken from the campaign. */
  readonly counted: number
  readonly missing: number
  readonly doubled: number
  readonly leases: number
  readonly killedWorkers: number
  /** Seconds without a unit that was counted, at most. */
  readonly longestPause: number
  readonly isGood: boolean
}

/** Milliseconds until a server listens: it may wait for the database, and for a machine that is busy. */
const startWithin = 180_000
/** Milliseconds without a unit that was counted, after which work does not continue: longer than a stale period and a take-over. */
const stuckAfter = 300_000
/** Milliseconds until the first unit: hundreds of clients start at once, on a machine that is busy. */
const firstWithin = 900_000

const nodeArgs = ['--conditions=heddle-source', '--disable-warning=ExperimentalWarning']
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
const heddle = here('../../packages/cli/bin/heddle.js')

/** A server that can be killed and started again at its address. */
class AccidentServer {
  readonly #store: string
  #child: ChildProcess | undefined
  url = ''

  constructor(store: string) {
    this.#store = store
  }

  async start(): Promise<void> {
    const port = this.url === '' ? '0' : new URL(this.url).port
    const child = fork(here('./accident-serve.ts'), [this.#store, port], {
      execArgv: nodeArgs,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child = child
    const ended = once(child, 'exit').then(() => {
      throw new Error('the server ended before it listened')
    })
    ended.catch(() => undefined)
    const listening = Promise.race([once(child, 'message'), ended]) as Promise<[{ url: string }]>
    const [message] = await endsWithin(startWithin, 'the start of a server', listening)
    this.url = message.url
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}

/** `heddle work` in a folder of its own, killed and started again. */
class WorkProcesses implements AsyncDisposable {
  readonly #random: Random
  readonly #start: (index: number) => ChildProcess
  readonly #children: ChildProcess[] = []
  killed = 0

  constructor(count: number, random: Random, start: (index: number) => ChildProcess) {
    this.#random = random
    this.#start = start
    for (let index = 0; index < count; index++) this.#children.push(start(index))
  }

  async killOne(): Promise<void> {
    const index = Math.floor(this.#random.next() * this.#children.length)
    const child = this.#children[index]
    if (child === undefined) return
    await end(child)
    this.killed++
    this.#children[index] = this.#start(index)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map(end))
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** *Cancellation*: none; its processes end with this one. */
export async function playAccidents(
  options: AccidentOptions,
  say: (line: string) => void,
): Promise<AccidentReport> {
  const { units, unitMs, clients, processes, work, pause, stillFor } = options
  const random = seededRandom(options.seed)
  await using stack = new CleanupStack()
  const keeper = stack.use(await openKeeper())
  const settings = ['fsync=on', 'synchronous_commit=on', 'max_connections=200']
  const postgres = await openPostgres(keeper, { settings })
  const store = `${postgres.address}?schema=accidents`
  const one = stack.use(new AccidentServer(store))
  const two = stack.use(new AccidentServer(store))
  await one.start()
  await two.start()
  const campaign = await create(one.url, units, unitMs)
  const since = performance.now()
  const at = (): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`
  const both = `${one.url},${two.url}`
  const turned = `${two.url},${one.url}`
  for (let index = 0; index < processes; index++) {
    const share = Math.floor(clients / processes) + (index < clients % processes ? 1 : 0)
    const addresses = index % 2 === 0 ? both : turned
    const args = [addresses, `client-${index}`, String(share)]
    const child = fork(here('./accident-clients.ts'), args, {
      execArgv: nodeArgs,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    stack.defer(() => end(child))
  }
  const jobs = here('./accident-jobs.ts')
  const workers = stack.use(
    new WorkProcesses(work, random, (index) => startWork(keeper.folder, index, both, jobs)),
  )
  const watch = new Watch([one, two], campaign)
  stack.defer(() => watch.stop())
  const reach = (share: number): Promise<void> => watch.reach(Math.floor(units * share))

  await reach(0.1)
  say(`${at()}: ${watch.done} units; kill -9 of the first server`)
  await one.kill()
  await workers.killOne()
  await sleep(pause)
  await one.start()
  await reach(0.3)
  say(`${at()}: ${watch.done} units; the second server stands still for ${stillFor / 1_000} s`)
  two.signal('SIGSTOP')
  await workers.killOne()
  await sleep(stillFor)
  two.signal('SIGCONT')
  await reach(0.5)
  say(`${at()}: ${watch.done} units; PostgreSQL is killed`)
  await postgres.kill()
  await workers.killOne()
  await sleep(pause)
  await postgres.start()
  await reach(0.7)
  say(`${at()}: ${watch.done} units; the second server is killed, and PostgreSQL is restarted`)
  await two.kill()
  await postgres.stop()
  await postgres.start()
  await two.start()
  while (watch.done < units) {
    await Promise.race([watch.reach(units), sleep(pause)])
    if (watch.done < units) await workers.killOne()
  }
  say(`${at()}: all units are counted`)

  await using opened = await openStore(store, { tables: fleetTables })
  const seen = new Uint8Array(units)
  let [doubled, leases] = [0, 0]
  for (let after = 0; ;) {
    const some = await readClosedLeases(opened.tables, campaign, after, 1_000)
    for (const { start, done, number } of some) {
      leases++
      after = number + 1
      for (let each = start; each < start + done; each++) doubled += seen[each]!++ > 0 ? 1 : 0
    }
    if (some.length < 1_000) break
  }
  const missing = seen.reduce((sum, count) => sum + (count === 0 ? 1 : 0), 0)
  return {
    seconds: Math.round((performance.now() - since) / 1_000),
    units,
    counted: watch.done,
    missing,
    doubled,
    leases,
    killedWorkers: workers.killed,
    longestPause: Math.round(watch.longestPause / 100) / 10,
    isGood: watch.done === units && missing === 0 && doubled === 0,
  }
}

/** Follows the campaign through whichever server answers. */
class Watch {
  readonly #servers: readonly AccidentServer[]
  readonly #campaign: string
  readonly #controller = new AbortController()
  #changedAt = performance.now()
  #waiters: {
    readonly at: number
    readonly resolve: () => void
    readonly reject: (error: Error) => void
  }[] = []
  done = 0
  longestPause = 0

  constructor(servers: readonly AccidentServer[], campaign: string) {
    this.#servers = servers
    this.#campaign = campaign
    void this.#follow()
  }

  /** @throws when no unit was counted for too long. */
  async reach(units: number): Promise<void> {
    if (this.done >= units) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // The promise may have lost a race.
    promise.catch(() => undefined)
    this.#waiters.push({ at: units, resolve, reject })
    await promise
  }

  stop(): void {
    this.#controller.abort()
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    const { signal } = this.#controller
    for (let turn = 0; !signal.aborted; turn++) {
      const { url } = this.#servers[turn % this.#servers.length]!
      const done = await doneOf(`${url}/campaigns/${this.#campaign}`)
      if (done !== undefined && done > this.done) this.#onDone(done)
      else this.#checkProgress()
      await sleep(100)
    }
  }

  #checkProgress(): void {
    const most = this.done === 0 ? firstWithin : stuckAfter
    if (performance.now() - this.#changedAt < most) return
    const after = `${this.done} units, then none for ${most / 1_000} s`
    for (const { reject } of this.#waiters.splice(0)) reject(new Error(after))
  }

  #onDone(done: number): void {
    const now = performance.now()
    this.longestPause = Math.max(this.longestPause, now - this.#changedAt)
    this.#changedAt = now
    this.done = done
    const waiters = this.#waiters
    this.#waiters = waiters.filter(({ at }) => at > done)
    for (const { at, resolve } of waiters) if (at <= done) resolve()
  }
}

/** Undefined when the server does not answer, or not with the campaign. */
async function doneOf(address: string): Promise<number | undefined> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(2_000) })
    const { done } = (await response.json()) as { done?: number }
    return done
  } catch {
    return undefined
  }
}

/** Retries while the servers share the shards between them. */
async function create(url: string, units: number, unitMs: number): Promise<string> {
  for (;;) {
    const { id, error } = await askFor(url, units, unitMs)
    if (id !== undefined) return id
    if (error?.retryable !== true) throw new Error(`the campaign was refused: ${error?.message}`)
    await sleep(100)
  }
}

interface Created {
  readonly id?: string
  readonly error?: { readonly message: string; readonly retryable: boolean }
}

async function askFor(url: string, units: number, unitMs: number): Promise<Created> {
  const response = await fetch(`${url}/campaigns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'accidents',
      job: 'unit',
      units,
      outcomes: ['done'],
      input: { ms: unitMs },
      // Short leases: many of them are under way in each accident, and those of killed workers come back soon.
      lease_ms: 20 * unitMs,
      beat_ms: 5_000,
      stale_ms: 30_000,
    }),
  })
  return (await response.json()) as Created
}

function startWork(folder: string, index: number, servers: string, jobs: string): ChildProcess {
  const own = path.join(folder, `work-${index}`)
  const args = ['work', '--server', servers, '--jobs', jobs, '--folder', own]
  const more = ['--name', `work-${index}`, '--concurrency', '2', '--json']
  mkdirSync(own, { recursive: true })
  return spawn(process.execPath, [heddle, ...args, ...more], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
