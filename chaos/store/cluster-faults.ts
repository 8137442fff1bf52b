/**
 * Three servers on one PostgreSQL, under load, with faults: servers are killed, stopped for longer than their lease and
 * continued, and cut off from the database; PostgreSQL is killed, its disk is filled, and it is replaced by its
 * replica.
 *
 *  X1  Every acknowledged request has its result at the end. A job that was set aside by C5 is counted separately, and
 *      has its result after an operator has retried it.
 *  X2  The store has one outcome for each acknowledgement that promised a result, and no open job.
 *  X3  No server has written to a shard that another owned (audit.ts).
 *  X4  After a kill, a stop or a long cut all shards have a living owner within the lease and three seconds.
 *
 * The seed decides faults and inputs; the exact instants are the machine's.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '@heddle/core/lowlevel'
import { installAudit, noteMember, readAudit, type AuditReport } from './audit.ts'
import type { FaultyDatabase } from './faulty-database.ts'
import { FaultReport, playFault, type FaultKind, type Stage } from './faults.ts'
import { Load } from './load.ts'
import { Members } from './members.ts'

export interface ClusterFaultsOptions {
  readonly database: FaultyDatabase
  readonly seed: number
  readonly faults: number
  /** Each fault is played in turn, in an order that the seed decides. */
  readonly kinds: readonly FaultKind[]
  /** Requests under way at a time. */
  readonly streams: number
  readonly onFault?: (kind: FaultKind, number: number) => void
}

export interface ClusterFaultsReport extends AuditReport {
  readonly counts: Readonly<Record<FaultKind, number>>
  readonly longStops: number
  readonly longCuts: number
  readonly acknowledged: number
  /** How many of these were answered with a stored result: they have no outcome of their own. */
  readonly answered: number
  readonly refusedRequests: number
  /** Batches of servers that had lost their shards. */
  readonly refusedBatches: number
  /** Acknowledged, and without a result at the end. */
  readonly lost: number
  readonly wrong: number
  readonly openJobs: number
  /** Jobs that C5 has set aside, each with its result after a retry. */
  readonly setAside: number
  /** Milliseconds of each take-over: from the kill, the stop or the long cut until all shards had a living owner. */
  readonly takeOvers: readonly number[]
  readonly lateTakeOvers: number
  /** Milliseconds from each return of the database until all shards had an owner. */
  readonly returns: readonly number[]
}

/** Milliseconds between two requests of a stream. */
const pause = 40

/** Milliseconds for the last outcomes, which are written after the results. */
const settleLimit = 120_000

export async function clusterFaults(options: ClusterFaultsOptions): Promise<ClusterFaultsReport> {
  const { database, seed, faults, kinds, streams } = options
  const random = seededRandom(seed)
  const report = new FaultReport()
  await using members = new Members(database.address, () => database.port)
  const stage: Stage = { members, database, random, report }
  // The first one makes the tables.
  await members.start(0)
  await installAudit(database)
  await noteMember(database, members.all[0]!.number, members.all[0]!.child.pid!)
  await Promise.all([1, 2].map((place) => members.start(place)))
  for (const { number, child } of members.all.slice(1)) {
    await noteMember(database, number, child.pid!)
  }
  await members.ownAll()
  const load = new Load({ members, streams, pause })
  load.start()
  try {
    let turn: FaultKind[] = []
    for (let fault = 0; fault < faults; fault++) {
      if (turn.length === 0) turn = shuffle(kinds, () => random.next())
      const kind = turn.pop()!
      options.onFault?.(kind, fault + 1)
      await sleep(random.next() * 500)
      await playFault(kind, stage)
    }
  } finally {
    await load.stop()
  }
  // Waited for here: the servers end with this function.
  return await judge(load, stage)
}

function shuffle<T>(list: readonly T[], next: () => number): T[] {
  const left = [...list]
  const order: T[] = []
  while (left.length > 0) order.push(...left.splice(Math.floor(next() * left.length), 1))
  return order
}

async function judge(
  load: Load,
  { members, database, report }: Stage,
): Promise<ClusterFaultsReport> {
  await members.ownAll()
  const open = 'SELECT count(*) AS n FROM chaos.job WHERE NOT set_aside'
  await settle(async () => (await database.count(open)) === 0)
  const setAside = await retrySetAside(members, database)
  await settle(async () => (await database.count('SELECT count(*) AS n FROM chaos.job')) === 0)
  const { lost, wrong } = await readResults(load, members, database)
  await members.ownAll()
  return {
    counts: report.counts,
    longStops: report.longStops,
    longCuts: report.longCuts,
    acknowledged: load.acknowledged.size,
    answered: load.answered,
    refusedRequests: load.refused,
    refusedBatches: members.refused,
    lost,
    wrong,
    openJobs: await database.count('SELECT count(*) AS n FROM chaos.job'),
    setAside,
    takeOvers: report.takeOvers.map(Math.round),
    lateTakeOvers: report.lateTakeOvers,
    returns: report.returns.map(Math.round),
    ...(await readAudit(database)),
  }
}

async function settle(isSettled: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + settleLimit
  while (!(await isSettled()) && performance.now() < until) await sleep(100)
}

/** Retries like an operator. Resolves with the number of retried computations. */
async function retrySetAside(members: Members, database: FaultyDatabase): Promise<number> {
  const rows = await database.query<{ handle: string }>(
    `SELECT DISTINCT split_part(handle, ' ', 1) AS handle FROM chaos.job WHERE set_aside`,
  )
  for (const [index, { handle }] of rows.entries()) {
    const url = `${members.at(index).url}/computations/${handle}/retry`
    const headers = { 'content-type': 'application/json' }
    const { status, body } = await ask(url, { method: 'POST', headers })
    if (status !== 202) throw new Error(`retry of ${handle}: ${JSON.stringify(body)}`)
  }
  return rows.length
}

/** Asks any server for every result. */
async function readResults(
  load: Load,
  members: Members,
  database: FaultyDatabase,
): Promise<{ readonly lost: number; readonly wrong: number }> {
  let [lost, wrong] = [0, 0]
  const left = load.acknowledged.entries()
  const read = async (): Promise<void> => {
    // The readers share one iterator: each takes the next.
    for (const [n, handle] of left) {
      const { status, body } = await ask(`${members.at(n + 1).url}/results/${handle}/0?wait=60000`)
      if (status !== 200 && ++lost <= 3) {
        const outcomes = `SELECT handle, outcome FROM chaos.outcome WHERE handle LIKE '${handle}%'`
        console.error(n, handle, status, JSON.stringify([body, await database.query(outcomes)]))
      }
      if (status === 200 && body.result !== n * 2) wrong++
    }
  }
  await Promise.all(Array.from({ length: 16 }, read))
  return { lost, wrong }
}

interface ResultBody {
  readonly result?: number
  readonly error?: { readonly retryable: boolean }
}

/**
 * Asks like a client: retries what may be retried for half a minute, and also a request without an
 * answer.
 */
async function ask(
  url: string,
  init?: RequestInit,
): Promise<{ readonly status: number; readonly body: ResultBody }> {
  const until = performance.now() + 30_000
  for (;;) {
    const isLast = performance.now() > until
    try {
      const answer = await fetch(url, init)
      const body = (await answer.json()) as ResultBody
      if (body.error?.retryable !== true || isLast) return { status: answer.status, body }
    } catch (error) {
      if (isLast) throw error
    }
    await sleep(500)
  }
}
