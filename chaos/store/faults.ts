/** The faults: one function for each kind. Each resolves when all shards have an owner again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '@heddle/core/lowlevel'
import { noteMember } from './audit.ts'
import type { Cut } from './cut-link.ts'
import type { FaultyDatabase } from './faulty-database.ts'
import type { Members } from './members.ts'

export const faultKinds = ['kill', 'stop', 'cut', 'pgkill', 'disk', 'replica'] as const
export type FaultKind = (typeof faultKinds)[number]

/** The lease, and three seconds: how long a stop lasts, and how long a take-over may take. */
const takeOverLimit = 6_000 + 3_000
const longStop = 30_000

export interface Stage {
  readonly members: Members
  readonly database: FaultyDatabase
  readonly random: Random
  readonly report: FaultReport
}

/** Counts and times of the played faults. */
export class FaultReport {
  readonly counts: Record<FaultKind, number> = {
    kill: 0,
    stop: 0,
    cut: 0,
    pgkill: 0,
    disk: 0,
    replica: 0,
  }
  /** Stops of 30 s, among the stops. */
  longStops = 0
  /** Cuts that outlast the lease, among the cuts. */
  longCuts = 0
  /** Milliseconds from the fault until all shards had a living owner. */
  readonly takeOvers: number[] = []
  /** Milliseconds from the return of the database until all shards had an owner that was sure. */
  readonly returns: number[] = []

  get lateTakeOvers(): number {
    return this.takeOvers.filter((time) => time > takeOverLimit).length
  }
}

export function playFault(kind: FaultKind, stage: Stage): Promise<void> {
  stage.report.counts[kind]++
  return faults[kind](stage)
}

const faults: Readonly<Record<FaultKind, (stage: Stage) => Promise<void>>> = {
  kill,
  stop,
  cut,
  pgkill,
  disk,
  replica,
}

function pickPlace({ members, random }: Stage): number {
  return Math.floor(random.next() * members.all.length)
}

/** A server is killed and another is started in its place. */
async function kill(stage: Stage): Promise<void> {
  const { members, report } = stage
  const place = pickPlace(stage)
  const since = performance.now()
  await members.kill(place)
  const taken = members.ownAll().then(() => report.takeOvers.push(performance.now() - since))
  await Promise.all([taken, startMember(stage, place)])
  await members.ownAll()
}

/** Starts a server, and names it to the audit before it owns anything that matters. */
async function startMember({ members, database }: Stage, place: number): Promise<void> {
  await members.start(place)
  const { number, child } = members.all[place]!
  await noteMember(database, number, child.pid!)
}

/** A server does nothing for longer than its lease, then continues where it was. */
async function stop(stage: Stage): Promise<void> {
  const { members, random, report } = stage
  const member = members.all[pickPlace(stage)]!
  const isLong = random.next() < 0.2
  if (isLong) report.longStops++
  const since = performance.now()
  member.isUp = false
  member.child.kill('SIGSTOP')
  report.takeOvers.push(await members.ownAll())
  const during = isLong ? longStop : takeOverLimit
  await sleep(Math.max(0, during - (performance.now() - since)))
  member.child.kill('SIGCONT')
  member.isUp = true
  await members.ownAll()
}

/** A server loses its link to the database: for a moment, or for longer than its lease. */
async function cut(stage: Stage): Promise<void> {
  const { members, random, report } = stage
  const member = members.all[pickPlace(stage)]!
  const how = (['closed', 'silent', 'deaf', 'refused'] as const)[Math.floor(random.next() * 4)]!
  const isLong = how !== 'closed' && random.next() < 0.1
  if (how === 'closed') member.link.closeAll()
  else member.link.cut(how satisfies Cut)
  if (isLong) {
    report.longCuts++
    member.isUp = false
    report.takeOvers.push(await members.ownAll())
  } else await sleep(random.next() * 1_500)
  if (how !== 'closed') member.link.mend()
  member.isUp = true
  await members.ownAll()
}

/** PostgreSQL is killed, and started again after up to two seconds. */
async function pgkill({ members, database, random, report }: Stage): Promise<void> {
  await database.killAndRestart(random.next() * 2_000)
  report.returns.push(await members.ownAll())
}

async function disk({ members, database, random, report }: Stage): Promise<void> {
  await database.fillDisk(500 + random.next() * 4_000)
  report.returns.push(await members.ownAll())
}

/** The primary is killed under load, and its synchronous replica takes its place. */
async function replica({ members, database, report }: Stage): Promise<void> {
  await database.failOver(async () => {
    await members.ownAll()
    await sleep(1_000)
  })
  report.returns.push(await members.ownAll())
}
