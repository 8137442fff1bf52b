/**
 * Requests of a worker to one server for things that another one has (C6): a worker does not notice which server it
 * talks to.
 *
 *  E1  A claim is answered here when there is work here; otherwise the other servers are asked, one after the other,
 *      once a second while the claim waits. A server that had nothing for such a worker is left alone for that second,
 *      however many workers wait: correctness does not depend on a wake, and idle workers cost one question a second.
 *  E2  A beat is split by the owners of its leases. A lease whose owner is not known just now, as during a take-over,
 *      is not lost: its next owner gives it a full period (L6).
 *  E3  A call that was forwarded is answered where it arrives.
 */
import { isError } from '@heddle/core'
import type { Clock } from '@heddle/core/lowlevel'
import type { Cluster } from '../cluster/cluster.ts'
import type { Call } from '../http/route.ts'
import { kindOf, type WorkerDescription } from './fleet-worker.ts'

type AnyCall = Pick<Call, 'request' | 'reply' | 'caller' | 'id' | 'signal' | 'deadline'>

/** Milliseconds between two questions to a server that had nothing. */
export const askEvery = 1_000
/** Milliseconds that a server has to answer. */
const answerWithin = 3_000
/** Kinds of workers that are remembered as without work, for each server. */
const mostKinds = 10_000
/** Milliseconds until the next beat of a lease whose owner is not known. */
export const beatAgain = 5_000

export interface BeatLease {
  readonly lease: string
  readonly epoch: number
  readonly progress?: number | undefined
  readonly fraction?: number | undefined
  readonly text?: string | undefined
}

interface News {
  readonly lease: string
  readonly reason: string
}

export interface BeatBody {
  readonly lost: readonly News[]
  /** Jobs that the worker is asked to stop. */
  readonly stop: readonly News[]
  readonly next_beat_ms: number
}

/** Leases by the address of the server that answers for them. */
type ByAddress = ReadonlyMap<string, readonly BeatLease[]>

export interface SplitBeat {
  readonly local: BeatLease[]
  readonly byAddress: ByAddress
  /** Leases whose owner is not known just now (E2). */
  readonly unknown: number
}

export function hasNews({ lost, stop }: BeatBody): boolean {
  return lost.length > 0 || stop.length > 0
}

/** One answer out of those of several servers. */
export function joinBeats(
  answers: readonly BeatBody[],
  unknown: number,
): {
  lost: News[]
  stop: News[]
  next_beat_ms: number
} {
  const next = answers.map((answer) => answer.next_beat_ms)
  return {
    lost: answers.flatMap(({ lost }) => lost),
    stop: answers.flatMap(({ stop }) => stop),
    next_beat_ms: Math.min(...next, ...(unknown > 0 ? [beatAgain] : [])),
  }
}

export class Elsewhere {
  readonly #cluster: Cluster
  readonly #clock: Clock
  /** Until when a server is not asked for work of a kind of worker. */
  readonly #idleUntil = new Map<string, number>()

  constructor(cluster: Cluster, clock: Clock) {
    this.#cluster = cluster
    this.#clock = clock
  }

  /** E3. */
  isForwarded(call: AnyCall): boolean {
    return this.#cluster.forwarding.isForwarded(call)
  }

  /** An offer of another server; undefined when there is none (E1). *Cancellation*: the signal of the call. */
  async claim<T extends { readonly offer?: object | undefined }>(
    call: AnyCall,
    body: { readonly worker: WorkerDescription; readonly request: string },
    address: string,
  ): Promise<T | undefined> {
    const { forwarding, members } = this.#cluster
    const kind = kindOf(call.caller.tenant, body.worker)
    const { addresses } = await members.others()
    for (const server of addresses) {
      const key = `${server} ${kind}`
      if ((this.#idleUntil.get(key) ?? -Infinity) > this.#clock.now()) continue
      // Before the question: others that come meanwhile do not ask as well.
      this.#leaveAlone(key)
      const asked = { ...body, wait_ms: 0, address }
      const answer = await forwarding.askAt<T>(server, call, asked, answerWithin)
      if (answer?.offer === undefined) continue
      // There may be more.
      this.#idleUntil.delete(key)
      return answer
    }
    return undefined
  }

  /** E2. *Cancellation*: none; it asks the table of members. */
  async split(leases: readonly BeatLease[]): Promise<SplitBeat> {
    const local: BeatLease[] = []
    const byAddress = new Map<string, BeatLease[]>()
    let unknown = 0
    for (const lease of leases) {
      try {
        const address = await this.#cluster.members.addressOf(workOf(lease.lease))
        if (address === undefined) local.push(lease)
        else byAddress.set(address, [...(byAddress.get(address) ?? []), lease])
      } catch (error) {
        if (!isError(error, 'HDL_NOT_OWNER')) throw error
        unknown++
      }
    }
    return { local, byAddress, unknown }
  }

  /** What their servers say to a beat. *Cancellation*: the signal of the call. */
  beat(call: AnyCall, worker: string, byAddress: ByAddress): Promise<BeatBody[]> {
    return Promise.all(
      [...byAddress].map(([address, leases]) =>
        this.#beatAt(call, address, { worker, leases }, answerWithin),
      ),
    )
  }

  /** Reports answers that have news; ends when all have waited. Never rejects. *Cancellation*: the signal of the call. */
  async waitNews(
    call: AnyCall,
    worker: string,
    byAddress: ByAddress,
    wait: number,
    onNews: (answer: BeatBody) => void,
  ): Promise<void> {
    const asked = [...byAddress].map(async ([address, leases]) => {
      const body = { worker, leases: leases.map(({ lease, epoch }) => ({ lease, epoch })) }
      const waiting = { ...body, wait_ms: wait }
      const answer = await this.#beatAt(call, address, waiting, wait + answerWithin)
      if (hasNews(answer)) onNews(answer)
    })
    await Promise.allSettled(asked)
  }

  async #beatAt(call: AnyCall, address: string, body: object, within: number): Promise<BeatBody> {
    const { forwarding } = this.#cluster
    const answer = await forwarding.askAt<BeatBody>(address, call, body, within)
    return answer ?? { lost: [], stop: [], next_beat_ms: beatAgain }
  }

  /** *Cancellation*: the signal of the call. */
  async leave(call: AnyCall, worker: string): Promise<void> {
    await this.#cluster.forwarding.askOthers(call, JSON.stringify({ worker }))
  }

  #leaveAlone(key: string): void {
    this.#idleUntil.delete(key)
    this.#idleUntil.set(key, this.#clock.now() + askEvery)
    if (this.#idleUntil.size <= mostKinds) return
    for (const oldest of this.#idleUntil.keys()) {
      this.#idleUntil.delete(oldest)
      return
    }
  }
}

/** The campaign, or the jobs of a shard, that a lease is of: its owner answers for the lease. */
export function workOf(lease: string): string {
  return lease.slice(0, lease.lastIndexOf('.'))
}
