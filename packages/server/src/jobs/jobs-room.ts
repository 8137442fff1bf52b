/** The room of served jobs: submit, results, cancel, stored results. */
import {
  CleanupStack,
  Dispatcher,
  diskTier,
  memoryTier,
  openCache,
  shardOf,
  type CacheTier,
  type WaitOptions,
} from '@heddle/core/lowlevel'
import type { PlacedContext } from '../http/context.ts'
import { usualLoopBody } from '../http/parse-json.ts'
import type { Drained, Room } from '../http/room.ts'
import { checkNeeds, jobTable } from './job-table.ts'
import { EarlierLedger } from './earlier-ledger.ts'
import { JobHistory } from './job-history.ts'
import { jobMetrics } from './metrics.ts'
import { FolderWatch, heldFolder, otherFolder } from './results-folder.ts'
import { ResultStore, type Stored } from './result-store.ts'
import { jobRoutes } from './routes.ts'
import { JobService, type ServiceOptions, type ServiceStats } from './service.ts'
import { StoreLedger } from './store-ledger.ts'

export interface JobsRoom extends Room {
  /** Names of the served jobs. */
  readonly jobs: readonly string[]
  stats(): ServiceStats
  /** See Results.mayRead(). */
  mayRead(handle: string, tenant: string, options?: WaitOptions): Promise<boolean>
  /** Milliseconds after which a client that is refused now should come back. */
  retryAfter(): number
  /** The process ends by an error that one of the running jobs may have caused. */
  blameRunning(): void
}

const minute = 60_000

/** Milliseconds for writes under way when the room has been drained. */
const stopWithin = 2_000

/**
 * Makes the room. `stop` closes everything that it opens.
 *
 * *Cancellation*: none: it waits for the disk only.
 * @throws `HDL_BAD_OPTION` when nothing can be served, or a job could never start; `HDL_WOULD_DEADLOCK`.
 */
export async function openJobsRoom(
  context: PlacedContext,
  onComputed?: ServiceOptions['onComputed'],
): Promise<JobsRoom> {
  const { limits, kernel, capacity, chores, cluster, shards, journal, placesOf, log } = context
  const { note } = context
  const jobs = jobTable(context.exported)
  checkNeeds(jobs, capacity)
  await using parts = new CleanupStack()
  const directory = context.resultsFolder
  const cache = await openCache<Stored>({
    name: 'Results',
    tier: cluster?.tier ?? tierOf(directory, limits.resultBytes),
    maxBytes: limits.cacheBytes,
    kernel,
  })
  parts.defer(() => cache.stop())
  const other = directory === undefined ? undefined : await otherFolder(directory)
  if (other !== undefined) {
    log(
      'warning',
      `The folder of the results is damaged or not ours, and was left alone: results are in ${other}; missing results are computed again.`,
    )
  }
  const held = directory === undefined ? undefined : await heldFolder(directory)
  const folder =
    held === undefined
      ? undefined
      : new FolderWatch(held, kernel.clock, () =>
          log(
            'warning',
            `The folder of the results (${held}) is gone: results are lost. Stop the server, repair it, and start it again.`,
          ),
        )
  const prepare = new Dispatcher({
    name: 'The first stage',
    stage: 'prepare',
    capacity: limits.prepareCapacity ?? 32,
    interactive: 'full',
    tenants: { capacity: limits.tenantCapacity },
    queueTimeout: limits.queue ?? minute / 2,
    timeout: limits.prepare ?? 10 * minute,
    permits: capacity,
    kernel,
  })
  const items = new Dispatcher({
    name: 'The second stage',
    stage: 'item',
    capacity: limits.itemCapacity ?? 256,
    interactive: 'full',
    timeout: limits.item ?? 10 * minute,
    permits: capacity,
    kernel,
  })
  const onProblem = (what: string, error: unknown): void =>
    log('warning', `${what}: ${error instanceof Error ? error.message : String(error)}`)
  const history = new JobHistory({ journal, kernel, onProblem })
  const ledger = new StoreLedger({
    shards,
    database: cluster?.database ?? context.store,
    kernel,
    jobs,
    history,
    onProblem,
  })
  cluster?.watch(ledger)
  const service = new JobService({
    jobs,
    store: new ResultStore(cache),
    ledger,
    placesOf,
    onJobLog: (name, text) => log('info', `${name}: ${text}`),
    prepare,
    items,
    kernel,
    ...(cluster !== undefined && {
      owns: (handle: string) => shards.ownership.epochOf(shardOf(handle)) !== undefined,
    }),
    note,
    onProblem,
    onComputed,
  })
  ledger.connect(service)
  const closing = new AbortController()
  const rest = parts.move()
  return {
    name: 'jobs',
    jobs: [...jobs.keys()],
    routes: jobRoutes({
      jobs,
      service,
      chores,
      bodyLimit: limits.body ?? 2 ** 20,
      loopBody: limits.loopBody ?? usualLoopBody,
      forwarding: cluster?.forwarding,
      clock: kernel.clock,
    }),
    async start() {
      await folder?.start()
      // Servers of a cluster own shards once they listen; without jobs there is nothing to acknowledge.
      if (cluster !== undefined || jobs.size === 0) return
      await shards.start()
      const unfinished = await ledger.recall(new EarlierLedger(journal, kernel))
      if (unfinished > 0)
        log('info', `Resuming ${unfinished} acknowledged requests from the last run.`)
      for (const { handle, reason } of ledger.setAside())
        log('warning', `Acknowledged work of ${handle} could not be resumed: ${reason}.`)
    },
    async drain({ signal }): Promise<Drained> {
      const { isClean } = await service.drain(signal)
      // Results of this life may be in files that no later process can open.
      const isStoreFailed = (await folder?.look()) === true
      return { isClean: isClean && !isStoreFailed, isStoreFailed }
    },
    async stop() {
      await folder?.stop()
      closing.abort()
      await service.drain(closing.signal)
      await ledger.acknowledged.stop({ deadline: stopWithin })
      await history.settled()
      await rest[Symbol.asyncDispose]()
    },
    stats: () => service.stats(),
    // A refused request needs room in both stages.
    retryAfter: () => Math.max(prepare.retryAfter(), items.retryAfter()),
    blameRunning: () => ledger.acknowledged.blameRunning(),
    mayRead: (handle, tenant, options) => service.results.mayRead(handle, tenant, options),
    metrics: () => jobMetrics(service.stats(), service.timings()),
    health: () => healthOf(service.stats()),
    *notReady() {
      const { load, prepare: first, items: second } = service.stats()
      // Above 75 % work of priority 0 is still taken: a balancer that looked away would close the interactive lane.
      if (load.utilisation >= 1) yield `the queues are ${load.level}`
      if (service.isStoreFailing) yield 'results cannot be stored'
      if (folder?.isGone === true) yield 'the folder of the results is gone'
      const stopping = first.stopping + second.stopping
      for (const place of ['thread', 'loop'] as const) {
        const permits = capacity.stats()[place]
        if (permits === undefined || permits.used < permits.permits) continue
        if (stopping >= permits.permits)
          yield `jobs that were stopped still hold all permits of ${place}`
      }
    },
    /** A computation whose callers were answered holds its permit until it stops or its grace is over. */
    *degraded() {
      const { load, prepare: first, items: second } = service.stats()
      if (load.refusing && load.utilisation < 1) yield 'the queues take priority 0 only'
      if (first.stopping > 0)
        yield `asked to stop, and still running in the first stage: ${first.stopping}`
      if (second.stopping > 0)
        yield `asked to stop, and still running in the second stage: ${second.stopping}`
    },
  }
}

/** Where results are when they do not fit the memory. */
function tierOf(directory: string | undefined, maxBytes: number | undefined): CacheTier {
  return directory === undefined ? memoryTier({ maxBytes }) : diskTier({ directory, maxBytes })
}

function healthOf(stats: ServiceStats): object {
  const { load, prepare, items, outcomes, works, requests, cache, unstored } = stats
  return {
    load: { level: load.level, label: load.label, utilisation: load.utilisation },
    works,
    requests,
    queues: { prepare: prepare.queue, items: items.queue },
    outcomes,
    stopping: { prepare: prepare.stopping, items: items.stopping },
    unresponsive: { prepare: prepare.unresponsive, items: items.unresponsive },
    cache: { entries: cache.entries, bytes: cache.bytes, hits: cache.hits, misses: cache.misses },
    unstored,
  }
}
