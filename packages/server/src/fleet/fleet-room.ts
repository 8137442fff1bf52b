/** The rooms of the fleet and of campaigns: they share workers, leases and the shards of this server. */
import { Readable } from 'node:stream'
import { HeddleError, isError } from '@heddle/core'
import {
  fleetPieces,
  type FleetDispatch,
  type OpenStore,
  type OptionNames,
} from '@heddle/core/lowlevel'
import { partsAmong } from '../campaigns/built-in-parts.ts'
import { Campaigns } from '../campaigns/campaigns.ts'
import { exportedCampaigns } from '../campaigns/own-campaign.ts'
import { campaignRoutes } from '../campaigns/routes.ts'
import {
  fleetAccept,
  fleetBeat,
  fleetClaim,
  fleetFail,
  fleetInput,
  fleetLeave,
  fleetLog,
  fleetParams,
  fleetRegister,
  fleetStop,
  fleetSummary,
  fleetUpdate,
  fleetVersion,
  protocolVersions,
} from '../client/contract/fleet.ts'
import type { ResponseBodyOf } from '../client/contract/contract.ts'
import { isAllowed, type Caller } from '../http/caller.ts'
import type { ForwardedAnswer, ServerContext } from '../http/context.ts'
import type { Room } from '../http/room.ts'
import { checkNesting } from '../http/nesting.ts'
import { route, type Call } from '../http/route.ts'
import { tenantsOf } from '../http/tenancy.ts'
import type { People } from '../people/people.ts'
import { BacklogReport } from './fleet-backlog.ts'
import { readErrorRecord } from './error-records.ts'
import { BlockWatch } from './block-watch.ts'
import { FleetJobs } from './fleet-jobs.ts'
import { Fleet, campaignOf, isCampaign } from './fleet.ts'
import {
  beatAgain,
  Elsewhere,
  askEvery,
  hasNews,
  joinBeats,
  workOf,
  type BeatBody,
  type BeatLease,
} from './elsewhere.ts'
import type { Refusal, WorkerDescription, WorkerIdentity } from './fleet-worker.ts'
import { defaultTimes, type Lease, type LeaseTimes } from './lease.ts'
import { readResult } from './read-result.ts'

/** Milliseconds, for the fleet of one server. */
export interface FleetLimits {
  /** Between two beats of a worker that runs a job. Default 120,000. */
  readonly beat?: number
  /** Without a sign of a worker, after which its leases are lost. Default 360,000. */
  readonly stale?: number
  /** Milliseconds between two searches for stale leases. Default 60,000. */
  readonly sweep?: number
  /** For an offer to be accepted. Default 10,000. */
  readonly offer?: number
  /** Leases of one address at a time. Default 100. */
  readonly leasesPerAddress?: number
  /** Claims that wait for work at a time; more are answered `busy`. Default 100,000. */
  readonly waitingClaims?: number
}

export const fleetLimitNames = {
  beat: 1,
  stale: 1,
  sweep: 1,
  offer: 1,
  leasesPerAddress: 1,
  waitingClaims: 1,
} satisfies OptionNames<FleetLimits>

export interface FleetRoom extends Room {
  readonly dispatch: FleetDispatch
  readonly fleet: Fleet
  readonly campaigns: Campaigns
}

/** Characters of a line that are kept. */
const longestLog = 5_120
/** Milliseconds that the first request waits for shards: longer than the lease of a server that was killed. */
const mostWait = 10_000
/** Milliseconds that a claim waits when the worker does not say. */
const usualWait = 25_000

export function openFleetRoom(
  context: Pick<
    ServerContext,
    'kernel' | 'log' | 'cluster' | 'shards' | 'store' | 'artifacts' | 'exported'
  >,
  options: {
    readonly isLazy: boolean
    readonly limits?: FleetLimits | undefined
    readonly people: Pick<People, 'refusedSince'>
  },
): FleetRoom {
  const { kernel, cluster, shards } = context
  const { limits = {} } = options
  const store: OpenStore = cluster?.database ?? context.store
  const fleet = new Fleet({
    kernel,
    offerFor: limits.offer,
    sweepEvery: limits.sweep,
    leasesPerAddress: limits.leasesPerAddress,
    waitingClaims: limits.waitingClaims,
    onSilent: (text) => context.log('warning', text),
    onFailed: (text) => context.log('info', text),
  })
  const beat = limits.beat ?? defaultTimes.beat
  const times: LeaseTimes = { ...defaultTimes, beat, stale: limits.stale ?? 3 * beat }
  const { book } = fleet
  const common = {
    kernel,
    ownership: shards.ownership,
    committer: shards.committer,
    tables: store.tables,
    workerOf: (description: WorkerDescription, identity: WorkerIdentity) =>
      fleet.worker(description, identity),
  }
  const jobs = new FleetJobs({
    ...common,
    times,
    onWaiting: () => fleet.wake(),
    askStop: (lease, reason) => book.askStop(lease, reason),
    close: (lease, why) => book.close(lease, why),
    restore: (lease) => book.restore(lease),
    drop: (shard) => book.drop(shard),
    workers: fleet.groups,
    readResult: ({ run, artifact }) => readResult(context.artifacts, run, artifact, kernel.clock),
  })
  const partsOf = partsAmong(exportedCampaigns(context.exported))
  const campaigns = new Campaigns({
    ...common,
    book,
    partsOf,
    onChange: () => fleet.wake(),
    onProblem: (text) => context.log('warning', text),
  })
  fleet.attach({ campaigns, jobs })
  shards.add(campaigns)
  shards.add(jobs)
  const elsewhere = cluster === undefined ? undefined : new Elsewhere(cluster, kernel.clock)
  const blocks = new BlockWatch({ fleet, people: options.people, kernel })
  const backlog =
    cluster === undefined
      ? undefined
      : new BacklogReport({
          server: shards.server,
          tables: store.tables,
          kernel,
          read: () => ({
            waitingJobs: jobs.waiting,
            openUnits: unitsWithoutWorker(campaigns),
            leases: book.stats().held,
            waitingClaims: fleet.desk.waiting,
          }),
        })
  let started: Promise<void> | undefined
  let owned: Promise<void> | undefined
  const startAll = async (): Promise<void> => {
    await fleet.start()
    await blocks.start()
    await backlog?.start()
    // Those of a cluster are started when the server listens.
    if (cluster === undefined) await shards.start()
  }
  const waitOwned = async (): Promise<void> => {
    await campaigns.waitOwned(mostWait)
    await jobs.waitRead()
  }
  /** What routes wait for: the first shards are this server's, and were read. */
  const ready = async (): Promise<void> => {
    await (started ??= startAll())
    await (owned ??= waitOwned())
  }
  let stopped: Promise<void> | undefined
  const stopAll = async (): Promise<void> => {
    await blocks.stop()
    await backlog?.stop()
    await fleet.stop()
    await campaigns.stop()
    await jobs.stop()
  }
  return {
    name: 'fleet',
    dispatch: jobs,
    fleet,
    campaigns,
    routes: [
      ...fleetRoutes(fleet, jobs, times, ready, context, elsewhere),
      ...campaignRoutes(campaigns, store.tables, ready, partsOf, context.artifacts),
    ],
    start: async () => {
      // A store in memory has nothing to continue: its shards are acquired when they are needed first.
      if (options.isLazy) return
      if (cluster === undefined) await ready()
      else await (started ??= startAll())
    },
    drain: async () => {
      fleet.drain()
      return { isClean: true }
    },
    stop: () => (stopped ??= stopAll()),
    stats: () => fleet.summary(),
    metrics: () => {
      const { workers, active, waiting, held, jobs_waiting: queued } = fleet.summary()
      const family =
        (type: 'gauge' | 'counter') => (name: string, help: string, value: number) => ({
          name,
          help,
          type,
          samples: [{ value }],
        })
      const gauge = family('gauge')
      const counter = family('counter')
      const { commits, rows } = shards.committer.stats()
      return [
        gauge('heddle_fleet_workers', 'Workers that were seen.', workers),
        gauge('heddle_fleet_active_workers', 'Workers that hold a lease.', active),
        gauge('heddle_fleet_waiting_claims', 'Claims that wait for work.', waiting),
        gauge('heddle_fleet_leases', 'Leases that are held.', held),
        gauge('heddle_fleet_waiting_jobs', 'Attempts that wait for a worker.', queued),
        gauge(
          'heddle_fleet_open_units',
          'Units of campaigns that no worker has.',
          unitsWithoutWorker(campaigns),
        ),
        counter(
          'heddle_fleet_commits_total',
          'Transactions of this server on its shards.',
          commits,
        ),
        counter('heddle_fleet_rows_total', 'Rows in these transactions.', rows),
      ]
    },
  }
}

function unitsWithoutWorker(campaigns: Campaigns): number {
  let open = 0
  for (const campaign of campaigns.offering()) open += campaign.openUnits
  return open
}

/** @throws `HDL_PROTOCOL_VERSION` when there is none in common. */
function agreeVersion(offered: readonly number[]): number {
  const common = offered.filter((version) => protocolVersions.includes(version))
  if (common.length > 0) return Math.max(...common)
  throw new HeddleError('HDL_PROTOCOL_VERSION', {
    worker: offered.join(', '),
    server: protocolVersions.join(', '),
  })
}

function identityOf({ caller, request }: Pick<Call, 'caller' | 'request'>): WorkerIdentity {
  const { kind, name, by } = caller
  const names = [`${kind} ${name}`, ...(by === undefined ? [] : [`user ${by}`])]
  return { owner: caller.id, tenant: caller.tenant, address: request.ip, names }
}

/** The server that answers for a lease. */
const ownedBy = ({ body }: { readonly body: { readonly lease: string } }): string =>
  workOf(body.lease)

/** L4: a call about a lease comes from the user or token that started its worker. */
function ofCaller<T extends object>(named: T, { id }: Caller): T & { readonly owner: string } {
  return { ...named, owner: id }
}

type ClaimReply = ResponseBodyOf<typeof fleetClaim>

function offerOf(lease: Lease, fleet: Fleet): ClaimReply {
  const { work, id, epoch } = lease
  return {
    offer: {
      lease: id,
      epoch,
      accept_within_ms: fleet.offerFor,
      next_beat_ms: fleet.book.nextBeat(work),
      stale_ms: work.times.stale,
      work: work.describe(lease),
    },
  }
}

const noOthers: ReadonlyMap<string, never[]> = new Map()

/** A beat of leases that this server answers for. */
function beatLeases(
  fleet: Fleet,
  jobs: FleetJobs,
  times: LeaseTimes,
  { worker, owner }: { readonly worker: string; readonly owner: string },
  leases: readonly BeatLease[],
): BeatBody {
  const lost: { lease: string; reason: string }[] = []
  let next = times.beat
  for (const { lease, epoch, progress, fraction, text } of leases) {
    try {
      const { nextBeat } = fleet.book.beat({ lease, epoch, worker, owner }, progress)
      next = Math.min(next, nextBeat)
      const held = fleet.book.get(lease)
      if (fraction !== undefined && held !== undefined) jobs.progress(held, fraction, text)
    } catch (error) {
      if (!isError(error, 'HDL_LEASE_ENDED')) throw error
      // E2
      if (!fleet.answersFor(lease)) next = Math.min(next, beatAgain)
      else lost.push({ lease, reason: error.details.reason })
    }
  }
  return { lost, stop: fleet.stopsOf(worker, owner), next_beat_ms: next }
}

/** Whether a lease has ended with this answer to a report, or before it. */
function hasEnded({ status, body }: ForwardedAnswer): boolean {
  if (status !== 200 || body === undefined) return status === 410
  const { closed, ended } = JSON.parse(body.toString()) as { closed?: string; ended?: boolean }
  return closed !== undefined || ended === true
}

/** A wait is not a beat without progress (L8). */
function withoutProgress(leases: readonly BeatLease[]): BeatLease[] {
  return leases.map(({ lease, epoch }) => ({ lease, epoch }))
}

/** Whether waiting may help. */
function isPatient({ reason }: Refusal): boolean {
  return reason === 'no_work' || reason === 'capability'
}

function fleetRoutes(
  fleet: Fleet,
  jobs: FleetJobs,
  times: LeaseTimes,
  ready: () => Promise<void>,
  { log, kernel: { clock } }: Pick<ServerContext, 'log' | 'kernel'>,
  elsewhere: Elsewhere | undefined,
): Room['routes'] {
  const { book } = fleet
  /** W10. */
  const onForwarded = (
    { body, caller }: { readonly body: { readonly worker: string }; readonly caller: Caller },
    answer: ForwardedAnswer,
  ): void => {
    if (hasEnded(answer)) fleet.freePlace(body.worker, caller.id)
  }
  return [
    route(fleetVersion, ({ body }) => ({
      protocol: agreeVersion(body.protocol),
      server: protocolVersions.join(', '),
    })),
    route(fleetRegister, async (call) => {
      const { protocol, worker } = call.body
      const agreed = agreeVersion(protocol)
      await ready()
      fleet.callingWorker(worker, identityOf(call))
      return { protocol: agreed, worker: worker.id, next_beat_ms: times.beat }
    }),
    route(fleetClaim, async (call) => {
      await ready()
      const { worker, request, wait_ms: wait = usualWait, holds } = call.body
      const { signal } = call
      const isForwarded = elsewhere?.isForwarded(call) === true
      const own = identityOf(call)
      const identity = isForwarded ? { ...own, address: call.body.address ?? own.address } : own
      const known = fleet.callingWorker(worker, identity)
      const { freed, leaves } = known
      /** W4: a worker that has left meanwhile gets nothing. */
      const hasLeft = (): boolean => known.leaves !== leaves
      const until = fleet.now() + wait
      const others = isForwarded ? undefined : elsewhere
      for (;;) {
        const stop = fleet.newStopsOf(worker.id)
        /** Milliseconds; 0 when the worker has to be answered: W4, W7, W10. */
        const leftNow = (): number => {
          const isOver = stop.length > 0 || known.freed !== freed || hasLeft()
          return isOver ? 0 : Math.max(0, until - fleet.now())
        }
        const left = leftNow()
        // E1: with other servers, a claim looks up once a second.
        const claim = { description: worker, identity, request, holds, signal }
        let answer = await fleet.claim({ ...claim, wait: others === undefined ? left : 0 })
        const asked = stop.length === 0 ? {} : { stop }
        if (answer.kind === 'offer') return { ...offerOf(answer.lease, fleet), ...asked }
        const found = hasLeft()
          ? undefined
          : await others?.claim<ClaimReply>(call, call.body, identity.address)
        if (found !== undefined) return { ...found, ...asked }
        if (others !== undefined && !hasLeft()) {
          answer = await fleet.claim({ ...claim, wait: Math.min(leftNow(), askEvery) })
        }
        if (answer.kind === 'offer') return { ...offerOf(answer.lease, fleet), ...asked }
        if (others !== undefined && leftNow() > 0 && isPatient(answer) && !signal.aborted) continue
        // W7: stops that arrived while it waited.
        stop.push(...fleet.newStopsOf(worker.id))
        const { reason, message, retryAfter = reason === 'no_work' ? 0 : 5_000 } = answer
        return {
          empty: { reason, message, retry_after_ms: retryAfter },
          ...(stop.length === 0 ? {} : { stop }),
        }
      }
    }),
    route(
      fleetAccept,
      async ({ body, caller }) => {
        const lease = await fleet.accept(ofCaller(body, caller))
        return { lease: lease.id, next_beat_ms: book.firstBeat(lease.work) }
      },
      { ownedBy },
    ),
    route(fleetBeat, async (call) => {
      const { worker, leases, wait_ms: wait = 0 } = call.body
      const beatOwn = (own: readonly BeatLease[]): BeatBody =>
        beatLeases(fleet, jobs, times, ofCaller({ worker }, call.caller), own)
      const others = elsewhere?.isForwarded(call) === false ? elsewhere : undefined
      const split = await others?.split(leases)
      const { local = leases, unknown = 0, byAddress = noOthers } = split ?? {}
      const asked = byAddress.size === 0 ? [] : await others!.beat(call, worker, byAddress)
      const first = joinBeats([beatOwn(local), ...asked], unknown)
      if (wait === 0 || hasNews(first)) return first
      // W7: until the first of these servers has something to say.
      const controller = new AbortController()
      const signal = AbortSignal.any([call.signal, controller.signal])
      const news: BeatBody[] = []
      const there = others?.waitNews({ ...call, signal }, worker, byAddress, wait, (body) => {
        news.push(body)
        controller.abort()
      })
      await fleet.waitNews(worker, call.caller.id, wait, signal)
      controller.abort()
      await there
      return joinBeats([beatOwn(withoutProgress(local)), ...news], unknown)
    }),
    route(
      fleetInput,
      ({ params, query, reply, caller }) => {
        const lease = book.heldLease(ofCaller({ ...params, ...query }, caller))
        const { name, input } = jobs.inputOf(lease)
        void reply.type('application/octet-stream')
        const pieces = fleetPieces(name, input, clock)
        return reply.send(Readable.from(pieces, { objectMode: false }))
      },
      { ownedBy: ({ params }) => workOf(params.lease), isStream: true, tenancy: 'handler' },
    ),
    route(
      fleetUpdate,
      async ({ body, caller }) => {
        const { sequence, done, result, artifact } = body
        checkNesting('The result', result)
        const named = ofCaller(body, caller)
        const resultAt = artifact === undefined ? undefined : fleet.resultAt(named, artifact)
        const answer = await fleet.update(named, { sequence, done, result, resultAt })
        const { counted, closed, problem, nextBeat } = answer
        return {
          counted,
          ...(closed === undefined ? {} : { closed }),
          ...(problem === undefined ? {} : { problem }),
          next_beat_ms: nextBeat,
        }
      },
      { ownedBy, onForwarded },
    ),
    route(
      fleetParams,
      ({ body, caller }) => {
        const lease = book.heldLease(ofCaller(body, caller))
        return { parameters: campaignOf(lease).propose(lease) ?? null }
      },
      { ownedBy },
    ),
    route(
      fleetFail,
      async ({ body, caller }) => {
        const { stage, retryable = true, name, stack, retry_after_ms: retryAfter } = body
        const message = body.message.slice(0, longestLog)
        const error = readErrorRecord(body.error)
        const failure = { message, retryable, name, stack, retryAfter, error }
        const named = ofCaller(body, caller)
        if (stage === 'hand_back') await fleet.handBack(named)
        else await fleet.fail(named, { ...failure, stage })
        return { ended: true }
      },
      { ownedBy, onForwarded },
    ),
    route(
      fleetStop,
      async (call) => {
        const { body, caller } = call
        const named = ofCaller(body, caller)
        const lease = book.heldLease(named)
        const reason = body.reason.slice(0, longestLog)
        if (isAllowed(caller, 'operator')) {
          const campaign = campaignOf(lease)
          campaign.end('stopped', reason)
          await campaign.saved()
          return { stopped: true }
        }
        await fleet.fail(named, { message: reason, retryable: true, stage: 'run' })
        throw new HeddleError('HDL_FORBIDDEN', { what: 'Stopping a campaign', needs: 'operator' })
      },
      { ownedBy },
    ),
    route(
      fleetLog,
      ({ body, caller }) => {
        const { worker, lease, epoch, campaign } = body
        const text = body.text.slice(0, longestLog)
        if (campaign !== undefined && lease === undefined) {
          throw new HeddleError('HDL_BAD_INPUT', {
            what: 'lease',
            problem: 'a line for a campaign names the lease of its sender',
          })
        }
        if (lease !== undefined) {
          const held = book.heldLease(ofCaller({ lease, epoch: epoch ?? 0, worker }, caller))
          // A campaign has no log of its own.
          if (isCampaign(held.work))
            log('info', `campaign ${held.work.id}: ${machineOf(held)}: ${text}`)
          else jobs.log(held, text)
        } else log('info', `worker ${worker} of ${caller.name}: ${text}`)
        return { logged: text.length }
      },
      { ownedBy: ({ body: { lease } }) => (lease === undefined ? undefined : workOf(lease)) },
    ),
    route(fleetLeave, async (call) => {
      const { worker } = call.body
      await fleet.leave(worker, call.caller.id)
      if (elsewhere?.isForwarded(call) === false) await elsewhere.leave(call, worker)
      return { left: true }
    }),
    route(fleetSummary, ({ query, caller }) => ({
      ...fleet.summary(tenantsOf(caller)),
      list: workerList(fleet, caller, query.workers ?? 0),
    })),
  ]
}

function machineOf({ worker, address }: Lease): string {
  return `worker ${worker.name} at ${address}`
}

function workerList(fleet: Fleet, caller: Caller, most: number) {
  const now = fleet.now()
  const list = []
  for (const worker of fleet.workers(tenantsOf(caller))) {
    if (list.length >= most) break
    list.push({
      worker: worker.id,
      name: worker.name,
      owner: worker.identity.owner,
      threads: worker.threads,
      capabilities: [...worker.description.capabilities],
      leases: [...worker.leases].map(({ id }) => id),
      seen_ms_ago: Math.round(now - worker.seenAt),
      ...(worker.lastRefusal === undefined ? {} : { why_idle: worker.lastRefusal.message }),
    })
  }
  return list
}
