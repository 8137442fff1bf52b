/** The room of the machine: present and past activity of this process, for operators. */
import type { Clock, LoopWatch, Tables, ThreadPool } from '@heddle/core/lowlevel'
import { HeddleError } from '@heddle/core'
import {
  campaignHistory,
  listServers,
  listWorkers,
  readInventory,
  showLoad,
  showLoop,
  type LoopView,
  type ServersView,
  type WorkersView,
} from '../client/contract/machine.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { serverTable } from '../cluster/members.ts'
import type { CampaignSpec } from '../campaigns/campaign-spec.ts'
import type { CampaignState } from '../campaigns/campaign-state.ts'
import { readCampaign } from '../campaigns/records.ts'
import { isCampaign } from '../fleet/fleet.ts'
import type { FleetWorker } from '../fleet/fleet-worker.ts'
import type { FleetRoom } from '../fleet/fleet-room.ts'
import type { Caller } from '../http/caller.ts'
import type { Room } from '../http/room.ts'
import { route } from '../http/route.ts'
import { checkTotals, maySee, tenantsOf } from '../http/tenancy.ts'
import type { ServiceStats } from '../jobs/service.ts'
import { CampaignHistory, subjectOf, subjectOfState } from './campaign-history.ts'
import { inventoryJob } from './inventory-thread.ts'
import { LoadHistory, type LoadSample } from './load-history.ts'

export interface MachineOptions {
  readonly clock: Clock
  readonly loop: LoopWatch
  readonly pool: ThreadPool
  /** Threads for what would hold up the loop. */
  readonly chores: ThreadPool
  readonly cluster: Cluster | undefined
  /** Stats of the room of jobs. */
  readonly jobs: () => ServiceStats
  readonly fleet: Pick<FleetRoom, 'fleet' | 'campaigns'>
  /** Tables of campaigns. */
  readonly tables: Tables
  /** The file of `heddle analyze --inventory --json`. */
  readonly inventory: string | undefined
}

export interface MachineRoom extends Room {
  readonly history: LoadHistory
}

export function openMachineRoom(options: MachineOptions): MachineRoom {
  const history = new LoadHistory(options.clock, () => sampleOf(options))
  const { campaigns } = options.fleet
  const results = new CampaignHistory(options.tables, options.clock, campaigns)
  return {
    name: 'machine',
    history,
    routes: [
      route(showLoop, () => loopView(options)),
      route(showLoad, ({ caller }) => {
        checkTotals(caller, 'GET /load')
        return history.view()
      }),
      route(listServers, () => serversOf(options.cluster)),
      route(readInventory, async ({ reply, signal, deadline }) => {
        const { module, name: job } = inventoryJob
        const question = { module: module!, job, input: options.inventory }
        const text = await options.chores.run<string>(question, { signal, deadline })
        return reply.type('application/json; charset=utf-8').send(text)
      }),
      route(listWorkers, ({ caller }) => workersOf(options, caller)),
      route(
        campaignHistory,
        async ({ params: { id }, caller }) => {
          const here = campaigns.get(id)
          const record = here === undefined ? await readCampaign(options.tables, id) : undefined
          const tenant = here?.spec.tenant ?? record?.tenant
          if (tenant === undefined || !maySee(caller, tenant)) {
            throw new HeddleError('HDL_UNKNOWN_CAMPAIGN', { campaign: id })
          }
          if (here !== undefined) {
            results.sample(here)
            return results.read(subjectOf(here))
          }
          const spec = JSON.parse(record!.spec) as CampaignSpec
          return results.read(subjectOfState(id, spec, JSON.parse(record!.state) as CampaignState))
        },
        { tenancy: 'handler' },
      ),
    ],
    start: async () => {
      await history.start()
      await results.start()
    },
    drain: async () => ({ isClean: true }),
    stop: async () => {
      await history.stop()
      await results.stop()
    },
    stats: () => ({}),
    metrics: () => [],
  }
}

function sampleOf({ jobs, pool }: MachineOptions): Omit<LoadSample, 'at'> {
  const { load, requests, prepare, items } = jobs()
  return {
    utilisation: load.utilisation,
    level: load.level,
    requests,
    threadsBusy: pool.stats().threads.filter(({ busy }) => busy).length,
    finished: prepare.queue.finished + items.queue.finished,
    refused: prepare.queue.rejected + items.queue.rejected,
    queued: { prepare: prepare.queue.queued, items: items.queue.queued },
  }
}

export function loopView({ loop, pool }: Pick<MachineOptions, 'loop' | 'pool'>): LoopView {
  const watched = loop.stats()
  const threads = pool.stats()
  const { p50, p99, max } = watched.delays
  return {
    is_watched: watched.state === 'running',
    threshold_ms: watched.threshold,
    gaps: watched.gaps,
    longest_ms: watched.longest,
    delay: { p50, p99, max },
    starved: { gaps: watched.starved.gaps, longest_ms: watched.starved.longest },
    recent: watched.recent.toReversed().map((gap) => ({
      started_at: gap.startedAt,
      ms: gap.ms,
      starved_ms: gap.starved ?? 0,
      label: gap.label ?? null,
      stack: [...gap.stack],
      certain: gap.certain,
    })),
    threads: threads.threads.map(({ id, state, busy, inFlight, finished }) => ({
      id,
      state,
      busy,
      in_flight: inFlight,
      finished,
    })),
    thread_jobs: threads.jobs.map(({ job, runs, meanRunTime }) => ({
      job,
      runs,
      mean_ms: meanRunTime,
    })),
    queued: threads.queued,
    crashed: threads.crashed,
    killed: threads.killed,
  }
}

const mostWorkers = 1_000
const mostJobs = 50

function workersOf({ fleet: { fleet } }: MachineOptions, caller: Caller): WorkersView {
  const now = fleet.now()
  const workers: WorkersView['workers'] = []
  let leftOut = 0
  for (const worker of fleet.workers(tenantsOf(caller))) {
    if (workers.length < mostWorkers) workers.push(workerView(worker, now))
    else leftOut++
  }
  return { workers, left_out: leftOut }
}

function workerView(worker: FleetWorker, now: number): WorkersView['workers'][number] {
  const { description, identity, lastWork, speeds, lastRefusal } = worker
  const speed = lastWork === undefined ? undefined : speeds.get(lastWork)
  return {
    worker: worker.id,
    name: worker.name,
    owner: identity.owner,
    threads: worker.threads,
    memory: description.memory,
    system: description.system,
    capabilities: [...description.capabilities],
    jobs: description.jobs.slice(0, mostJobs).map(({ name, version }) => ({ name, version })),
    work: Array.from(worker.leases, (lease) => ({
      lease: lease.id,
      of: isCampaign(lease.work) ? lease.work.id : null,
      done: lease.done,
      size: lease.size,
    })),
    ...(speed !== undefined && { units_per_second: speed * worker.threads }),
    seen_ms_ago: Math.round(now - worker.seenAt),
    ...(lastRefusal !== undefined && { why_idle: lastRefusal.message }),
    is_suspect: worker.isSuspect,
  }
}

const shardCount = 256

/** A server without a shared database owns everything. */
async function serversOf(cluster: Cluster | undefined): Promise<ServersView> {
  if (cluster === undefined) {
    return {
      servers: [
        { server: 'this', address: null, started_at: null, shards: shardCount, is_this: true },
      ],
      owners: Array.from({ length: shardCount }, () => 0),
    }
  }
  const own = cluster.shards.server
  const found = await cluster.database.owners()
  const ids = [...new Set([own, ...found.filter((owner) => owner !== undefined)])]
  const records = await cluster.database.tables.byIds(serverTable, ids)
  const indexes = new Map(ids.map((id, index) => [id, index]))
  return {
    servers: ids.map((id, index) => ({
      server: id,
      address: records[index]?.address ?? null,
      started_at: records[index]?.startedAt ?? null,
      shards: found.filter((owner) => owner === id).length,
      is_this: id === own,
    })),
    owners: found.map((owner) => (owner === undefined ? -1 : indexes.get(owner)!)),
  }
}
