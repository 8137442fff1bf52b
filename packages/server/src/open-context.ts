/** Opens the shared parts of a server's rooms: store, journal, permits, threads, and the watch over the loop. */
import { availableParallelism } from 'node:os'
import path from 'node:path'
import type { ResourceLimits } from 'node:worker_threads'
import { HeddleError } from '@heddle/core'
import {
  commandLine,
  Capacity,
  LoopWatch,
  Shards,
  ThreadPool,
  holdLock,
  isPostgresAddress,
  loopPlace,
  newRunId,
  openArtifacts,
  openJournal,
  openStore,
  threadPlace,
  withoutPasswords,
  type CleanupStack,
  type Kernel,
} from '@heddle/core/lowlevel'
import { openCluster } from './cluster/cluster.ts'
import { fleetTables } from './fleet/fleet-tables.ts'
import type { ServerContext } from './http/context.ts'
import { describeGap } from './http/describe-gap.ts'
import { StoreWatch } from './http/lifecycle/store-watch.ts'
import { peopleTables } from './people/people-tables.ts'
import { checkServed } from './check-served.ts'
import { runTables } from './runs/runs-tables.ts'
import { scheduleTables } from './schedules/schedule-tables.ts'
import type { ServerOptions } from './server-options.ts'

/** Opens what rooms are made from; `parts` closes it. */
export async function openContext(
  options: ServerOptions,
  kernel: Kernel,
  { log, note }: Pick<ServerContext, 'log' | 'note'>,
  parts: CleanupStack,
): Promise<ServerContext> {
  const { limits = {} } = options
  // Before anything is opened.
  if (options.jobs !== undefined) checkServed(options.jobs)
  const { journal: address, ...rest } = storeOf(options.store ?? 'memory')
  // A window into a journal leaves nothing of its own in it: it holds no lock, stores no results and owns no shard.
  const isWindow = options.jobs === undefined
  const { cache: resultsFolder, lock, isShared } = isWindow ? nothingOwn : rest
  // Runs may write to the same file; a second server would take over the acknowledged jobs of this one.
  if (lock !== undefined) parts.use(await holdLock(lock, { command: commandLine(), kernel }))
  // A client is answered with 503 at once, and may try again: the server does not try for it.
  const journal =
    options.journal ?? parts.use(await openJournal(address, { kernel, retry: { for: 0 } }))
  const cluster = isShared
    ? await openCluster(address, kernel, {
        advertise: options.advertise,
        secretFile: options.clusterSecret,
        // Those of the database that the servers share, whatever journal and artifacts this server was given.
        artifacts:
          (options.journal === undefined ? journal.artifacts : undefined) ??
          parts.use(await openArtifacts(address, { kernel })),
      })
    : undefined
  if (cluster !== undefined) {
    parts.use(cluster.database)
    parts.defer(() => cluster.stop())
  }
  const storeAddress = isWindow ? 'memory' : address
  const tables = [...peopleTables, ...fleetTables, ...scheduleTables, ...runTables]
  const store = parts.use(await openStore(storeAddress, { tables, kernel }))
  const shards =
    cluster?.shards ??
    new Shards({ server: `server-${newRunId(kernel)}`, database: store, kernel, isAlone: true })
  if (cluster === undefined) parts.defer(() => shards.stop())
  const alone = cluster === undefined ? shards.committer : undefined
  const storeWatch = new StoreWatch(journal, alone, () =>
    log(
      'warning',
      'The store cannot be written: nothing is acknowledged any more. Make room or repair it, then start the server again.',
    ),
  )
  const artifacts =
    options.artifacts === undefined
      ? journal.artifacts
      : parts.use(await openArtifacts(options.artifacts, { kernel }))
  const threads = options.threads ?? Math.max(2, availableParallelism())
  const capacity = new Capacity({
    loop: limits.loop,
    fleet: limits.fleet,
    thread: limits.thread ?? { permits: threads, reserved: 1 },
    resources: limits.resources,
    aging: 1_000,
    kernel,
  })
  cluster?.shareLimits(capacity)
  const resourceLimits = limits.threadMemory === undefined ? undefined : heapOf(limits.threadMemory)
  const pool = parts.use(new ThreadPool({ capacity, resourceLimits, kernel }))
  const chores = parts.use(new ThreadPool({ threads: 1, kernel }))
  const { loopGap = 50 } = limits
  const isWatched = loopGap !== Infinity
  const loop = parts.use(new LoopWatch({ ...(isWatched && { threshold: loopGap }), kernel }))
  loop.onGap((gap) => log('warning', `${describeGap(gap).replace(/^t/, 'T')}.`))
  return {
    kernel,
    limits,
    exported: options.jobs,
    journal,
    cluster,
    shards,
    store,
    storeWatch,
    artifacts,
    resultsFolder,
    capacity,
    places: { loop: loopPlace, thread: threadPlace(pool) },
    pool,
    chores,
    loop,
    log,
    note,
  }
}

function heapOf(bytes: number): ResourceLimits {
  return { maxOldGenerationSizeMb: Math.floor(bytes / 2 ** 20) }
}

/** A journal, and beside it the folder of the results. */
interface StorePlaces {
  readonly journal: string
  readonly cache: string | undefined
  /** Held by the server that uses the store. */
  readonly lock: string | undefined
  /** Whether several servers may use it. */
  readonly isShared: boolean
}

const nothingOwn = { cache: undefined, lock: undefined, isShared: false } as const

function storeOf(store: string): StorePlaces {
  const none = { cache: undefined, lock: undefined }
  if (store === 'memory') return { journal: store, ...none, isShared: false }
  if (isPostgresAddress(store)) return { journal: store, ...none, isShared: true }
  const [, file] = /^sqlite:(.+)$/.exec(store) ?? []
  if (file === undefined) {
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'store',
      value: withoutPasswords(store),
      expected: 'memory, sqlite:FILE or postgres://HOST/DATABASE',
    })
  }
  const resolved = path.resolve(file)
  const { dir, name } = path.parse(resolved)
  const cache = path.join(dir, `${name}.results`)
  return { journal: store, cache, lock: `${resolved}.server.lock`, isShared: false }
}
