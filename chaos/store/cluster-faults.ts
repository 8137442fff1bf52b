/**
 * Three servers on one PostgreSQL, under load, with faults: servers are killed with SIGKILL, stopped for longer than their
 * lease and continued, and their connections to the database are cut.
 *
 * At the end every acknowledged request has its result, the store has one outcome for each acknowledgement and no open
 * job, and all shards have an owner. The seed decides faults and inputs; the exact instants are the machine's.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { seededRandom, type Random } from '@heddle/core/lowlevel'

export interface ClusterFaultsOptions {
  /** The address of an empty database. */
  readonly address: string
  readonly seed: number
  readonly faults: number
  /** Requests under way at a time. */
  readonly streams: number
  readonly onFault?: (fault: string) => void
}

export interface ClusterFaultsReport {
  readonly kills: number
  readonly stops: number
  readonly cuts: number
  readonly acknowledged: number
  readonly refusedRequests: number
  /** Batches of stopped servers that the database has refused. */
  readonly refusedBatches: number
  readonly lost: number
  readonly wrong: number
  readonly outcomes: number
  readonly openJobs: number
  readonly setAside: number
  /** Milliseconds from a kill or a stop until all shards had a living owner. */
  readonly slowestTakeOver: number
}

interface Member {
  readonly child: ChildProcess
  readonly url: string
  isUp: boolean
}

/** The lease, and three seconds: how long a stop lasts, and how long a take-over may take. */
const stopTime = 6_000 + 3_000

async function startMember(store: string): Promise<Member> {
  const child = fork(fileURLToPath(new URL('served.ts', import.meta.url)), [store], {
    execArgv: ['--conditions=heddle-source'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  return { child, url, isUp: true }
}

async function shardsOf({ url }: Member): Promise<{ shards: number; refused_batches: number }> {
  const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) })
  return ((await answer.json()) as { cluster: { shards: number; refused_batches: number } }).cluster
}

export async function clusterFaults(options: ClusterFaultsOptions): Promise<ClusterFaultsReport> {
  const { address, seed, faults, streams } = options
  const random = seededRandom(seed)
  const store = `${address}?schema=chaos`
  const members = [await startMember(store)]
  members.push(await startMember(store), await startMember(store))
  const admin = new pg.Client({ connectionString: address })
  await admin.connect()
  const load = new Load(members, streams)
  const counts = { kills: 0, stops: 0, cuts: 0, refusedBatches: 0, slowestTakeOver: 0 }
  try {
    await ownedByAll(members)
    load.start()
    for (let fault = 0; fault < faults; fault++) {
      const kind = (['kills', 'stops', 'cuts'] as const)[fault % 3]!
      counts[kind]++
      options.onFault?.(kind)
      await play(kind, { members, random, store, admin, counts })
    }
    await load.stop()
    return await judge(load, members, admin, counts)
  } finally {
    await load.stop()
    await admin.end()
    for (const { child } of members) child.kill('SIGKILL')
  }
}

interface Stage {
  readonly members: Member[]
  readonly random: Random
  readonly store: string
  readonly admin: pg.Client
  readonly counts: { refusedBatches: number; slowestTakeOver: number }
}

async function play(kind: 'kills' | 'stops' | 'cuts', stage: Stage): Promise<void> {
  const { members, random, store, admin, counts } = stage
  const index = Math.floor(random.next() * members.length)
  const member = members[index]!
  await sleep(random.next() * 500)
  if (kind === 'cuts') {
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name LIKE 'heddle%' AND pid <> pg_backend_pid()`,
    )
    await ownedByAll(members)
    return
  }
  const since = performance.now()
  member.isUp = false
  member.child.kill(kind === 'kills' ? 'SIGKILL' : 'SIGSTOP')
  await ownedByAll(members)
  counts.slowestTakeOver = Math.max(counts.slowestTakeOver, performance.now() - since)
  if (kind === 'kills') {
    members[index] = await startMember(store)
  } else {
    await sleep(Math.max(0, stopTime - (performance.now() - since)))
    member.child.kill('SIGCONT')
    member.isUp = true
    counts.refusedBatches += (await shardsOf(member)).refused_batches
  }
  await ownedByAll(members)
}

/** Waits until the servers that are up own all shards. */
async function ownedByAll(members: readonly Member[]): Promise<void> {
  for (;;) {
    const up = members.filter(({ isUp }) => isUp)
    const found = await Promise.all(up.map((each) => shardsOf(each).catch(() => ({ shards: 0 }))))
    if (found.reduce((sum, { shards }) => sum + shards, 0) === 256) return
    await sleep(50)
  }
}

/** Submits one number after the other to whichever server, and remembers what was acknowledged. */
class Load {
  readonly acknowledged = new Map<number, string>()
  refused = 0
  readonly #members: readonly Member[]
  readonly #streams: number
  #next = 0
  #isOver = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(members: readonly Member[], streams: number) {
    this.#members = members
    this.#streams = streams
  }

  start(): void {
    this.#running = Promise.all(Array.from({ length: this.#streams }, () => this.#stream()))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #stream(): Promise<void> {
    while (!this.#isOver) {
      const n = this.#next++
      const { url } = this.#members[n % this.#members.length]!
      try {
        const answer = await fetch(`${url}/jobs/work`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: String(n),
          signal: AbortSignal.timeout(20_000),
        })
        const { handle } = (await answer.json()) as { handle?: string }
        if (answer.status === 202 && handle !== undefined) this.acknowledged.set(n, handle)
        else this.#refuse()
      } catch {
        this.#refuse()
        await sleep(20)
      }
    }
  }

  #refuse(): void {
    this.refused++
  }
}

async function judge(
  load: Load,
  members: readonly Member[],
  admin: pg.Client,
  counts: Pick<
    ClusterFaultsReport,
    'kills' | 'stops' | 'cuts' | 'refusedBatches' | 'slowestTakeOver'
  >,
): Promise<ClusterFaultsReport> {
  let [lost, wrong] = [0, 0]
  for (const [n, handle] of load.acknowledged) {
    const { url } = members[n % members.length]!
    const answer = await fetch(`${url}/results/${handle}/0?wait=60000`)
    const { result } = (await answer.json()) as { result?: number }
    if (answer.status !== 200) lost++
    else if (result !== n * 2) wrong++
  }
  const one = async (sql: string): Promise<number> => {
    const { rows } = await admin.query<{ n: string }>(sql)
    return Number(rows[0]!.n)
  }
  // Outcomes are written after the results: the last ones are on their way.
  for (let round = 0; round < 100; round++) {
    if ((await one('SELECT count(*) AS n FROM chaos.job WHERE NOT set_aside')) === 0) break
    await sleep(100)
  }
  return {
    ...counts,
    acknowledged: load.acknowledged.size,
    refusedRequests: load.refused,
    lost,
    wrong,
    outcomes: await one('SELECT count(*) AS n FROM chaos.outcome'),
    openJobs: await one('SELECT count(*) AS n FROM chaos.job WHERE NOT set_aside'),
    setAside: await one('SELECT count(*) AS n FROM chaos.job WHERE set_aside'),
  }
}
