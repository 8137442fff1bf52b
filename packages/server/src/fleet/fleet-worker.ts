import type { Lease } from './lease.ts'
import type { WorkerGroup } from './worker-groups.ts'

/** What a worker says about itself with each claim (W1). */
export interface WorkerDescription {
  /** One for each process: made by the worker when it starts. */
  readonly id: string
  /** For people; unique among the workers of its owner. */
  readonly name: string
  /** How many units of work it does at a time. */
  readonly threads: number
  /** Megabytes. */
  readonly memory: number
  readonly capabilities: readonly string[]
  readonly tags: readonly string[]
  /** Operating system and processor, such as `linux-x64`. */
  readonly system: string
  /** Jobs that it can run, with their versions. */
  readonly jobs: readonly { readonly name: string; readonly version: string }[]
  /** Names of its jobs that it has no place free for. */
  readonly full?: readonly string[]
}

/** The sender of a call. */
export interface WorkerIdentity {
  /** The user or token that it acts for. */
  readonly owner: string
  readonly tenant: string
  readonly address: string
  /** What has to be blocked to end its leases: `token ci`, `user ann`. */
  readonly names?: readonly string[]
}

/** Why a worker got nothing (W2). Part of the protocol. */
export type EmptyReason = 'no_work' | 'busy' | 'version' | 'capability' | 'blocked' | 'limit'

export interface Refusal {
  readonly reason: EmptyReason
  readonly message: string
  readonly retryAfter?: number
  /** Because of what this worker has done or is, not of what it can do: others of its kind may get work. */
  readonly isPersonal?: boolean
}

/** What workers of one kind have in common: they can do the same, for the same tenant. */
export function kindOf(
  tenant: string,
  { threads, memory, capabilities, tags, system, jobs, full }: WorkerDescription,
): string {
  return JSON.stringify([tenant, threads, memory, capabilities, tags, system, jobs, full])
}

/** The callers that wait for the next event. */
class Waiters {
  #waiting: Set<() => void> | undefined

  get isEmpty(): boolean {
    return this.#waiting === undefined || this.#waiting.size === 0
  }

  /** Calls it once; the returned function removes it. */
  add(wake: () => void): () => void {
    const waiting = (this.#waiting ??= new Set())
    waiting.add(wake)
    return () => void waiting.delete(wake)
  }

  wake(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    for (const each of waiting ?? []) each()
  }
}

/** A worker as this server knows it. */
export class FleetWorker {
  readonly id: string
  description: WorkerDescription
  identity: WorkerIdentity
  readonly leases = new Set<Lease>()
  /** Set by WorkerGroups. */
  group: WorkerGroup | undefined
  groupKey = ''
  /** See `kind`. */
  #kind: { readonly of: WorkerDescription; readonly text: string } | undefined
  /** On the monotonic clock. */
  seenAt: number
  isLeaving = false
  /** How often it has left: a claim that waited meanwhile is not followed by another one (W4). */
  leaves = 0
  lastRefusal: Refusal | undefined
  /** How often a place of it became free while a claim had said that there is none. */
  freed = 0
  /** The campaign of its last lease. */
  lastWork: string | undefined
  /** Units per second and thread, by campaign. */
  readonly speeds = new Map<string, number>()
  /** Campaigns in which it failed, with their owners (W5). */
  readonly failures = new Map<string, string>()
  /** Campaigns that failed here: for how long it gets no more of them, and until when (P11). */
  readonly #rests = new Map<string, { readonly pause: number; readonly until: number }>()
  /** Its claims that wait: answered when a job of it is to stop (W7). */
  readonly claims = new Waiters()
  /** Its beats that wait: answered when that happens, or a lease has ended. */
  readonly beats = new Waiters()

  constructor(description: WorkerDescription, identity: WorkerIdentity, now: number) {
    this.id = description.id
    this.description = description
    this.identity = identity
    this.seenAt = now
  }

  get name(): string {
    return this.description.name
  }

  /** See kindOf(). */
  get kind(): string {
    const { description, identity } = this
    if (this.#kind?.of !== description) {
      this.#kind = { of: description, text: kindOf(identity.tenant, description) }
    }
    return this.#kind.text
  }

  get threads(): number {
    return this.description.threads
  }

  /** Whether nothing here is about it: it has no lease, and no call of it waits. */
  get isIdle(): boolean {
    return this.leases.size === 0 && this.claims.isEmpty && this.beats.isEmpty
  }

  /** W9: whether it may run and know of work of this tenant. */
  serves(tenant: string): boolean {
    return this.identity.tenant === tenant
  }

  /** W5. */
  get isSuspect(): boolean {
    return this.failures.size >= 3 && new Set(this.failures.values()).size >= 2
  }

  /** Remembers a failure; old campaigns are forgotten. */
  failedIn(campaign: string, owner: string): void {
    this.failures.delete(campaign)
    this.failures.set(campaign, owner)
    if (this.failures.size > mostRemembered) this.failures.delete(first(this.failures))
  }

  /** P11. `hasWorked`: the lease that failed has reported some units. */
  rest(campaign: string, now: number, hasWorked: boolean): void {
    const before = hasWorked ? undefined : this.#rests.get(campaign)?.pause
    const pause = before === undefined ? firstRest : Math.min(2 * before, longestRest)
    this.#rests.delete(campaign)
    this.#rests.set(campaign, { pause, until: now + pause })
    if (this.#rests.size > mostRemembered) this.#rests.delete(first(this.#rests))
  }

  /** Milliseconds until it gets work of this campaign again; 0 when it may have it now. */
  restOf(campaign: string, now: number): number {
    return Math.max(0, (this.#rests.get(campaign)?.until ?? 0) - now)
  }

  /** A lease of this campaign has finished here. */
  hasFinished(campaign: string): void {
    this.#rests.delete(campaign)
  }

  measured(campaign: string, speed: number): void {
    const before = this.speeds.get(campaign)
    this.speeds.delete(campaign)
    this.speeds.set(campaign, before === undefined ? speed : before * 0.7 + speed * 0.3)
    if (this.speeds.size > mostRemembered) this.speeds.delete(first(this.speeds))
  }
}

const mostRemembered = 16
/** Milliseconds (P11). */
const firstRest = 1_000
const longestRest = 300_000

function first(map: ReadonlyMap<string, unknown>): string {
  for (const key of map.keys()) return key
  throw new Error('the map is empty')
}
