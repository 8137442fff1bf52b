/** Puts the parts together, and takes them apart in the reverse order. */
import { lookup } from 'node:dns/promises'
import type { RequestListener, Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import { HeddleError, type Place, type Run } from '@heddle/core'
import {
  Capacity,
  CleanupStack,
  LoopWatch,
  ThreadPool,
  checkCount,
  checkFunction,
  checkMethods,
  checkOptions,
  checkText,
  checkWord,
  fleetPlace,
  holdLock,
  kernelOf,
  loopPlace,
  openArtifacts,
  openJournal,
  newRunId,
  openStore,
  Shards,
  threadPlace,
  withoutPasswords,
  type Clock,
  type Journal,
  type Kernel,
  type OptionNames,
} from '@heddle/core/lowlevel'
import { openArtifactsRoom } from './artifacts/room.ts'
import { fleetLimitNames, openFleetRoom, type FleetLimits } from './fleet/room.ts'
import { fleetTables } from './fleet/tables.ts'
import { describeGap } from './http/describe-gap.ts'
import { adminRoom } from './http/admin-room.ts'
import { openCluster, type ClusterOptions } from './cluster/cluster.ts'
import { LinkDoor } from './cluster/link-door.ts'
import { makeApp } from './http/app.ts'
import { isLoopback } from './http/browsers.ts'
import type { AccessPolicy } from './http/caller.ts'
import type { ServerContext } from './http/context.ts'
import { makeHttpServer } from './http/http-server.ts'
import { Arrivals, type ArrivalStats } from './http/lifecycle/arrivals.ts'
import { Connections, type ConnectionStats } from './http/lifecycle/connections.ts'
import { Drain, type DrainOptions, type ServerState } from './http/lifecycle/drain.ts'
import { OpenResponses } from './http/lifecycle/open-responses.ts'
import { StoreWatch } from './http/lifecycle/store-watch.ts'
import { RouteMetrics } from './http/metrics/route-metrics.ts'
import type { Drained, Room } from './http/room.ts'
import { jobTable } from './jobs/job-table.ts'
import { openJobsRoom } from './jobs/room.ts'
import type { ServiceStats } from './jobs/service.ts'
import { checkLimits, type ServerLimits } from './limits.ts'
import type { LogEvent } from './log/log-event.ts'
import { StructuredLog, checkLogOptions, type LogOptions } from './log/structured-log.ts'
import { auditTo, type Audit } from './people/audit.ts'
import { People } from './people/people.ts'
import { PeoplePolicy } from './people/policy.ts'
import { openPeopleRoom } from './people/room.ts'
import { peopleTables } from './people/tables.ts'
import { ApprovalLinks } from './runs/approval-links.ts'
import { graphTable } from './runs/graph-table.ts'
import { OwnRuns } from './runs/own-runs.ts'
import { RunTakeOver } from './runs/take-over.ts'
import { openRunsRoom, openRunViewsRoom } from './runs/room.ts'
import { runTables } from './runs/tables.ts'
import { DelayedStarts } from './schedules/delayed-starts.ts'
import { exportedSchedules } from './schedules/definition.ts'
import { openSchedulesRoom } from './schedules/room.ts'
import { Schedules } from './schedules/schedules.ts'
import { scheduleTables } from './schedules/tables.ts'
import { Ticker } from './schedules/ticker.ts'
import { openMachineRoom } from './ui/machine-room.ts'
import { openUiRoom } from './ui/room.ts'

export type { ServerLimits }

export interface ServerOptions {
  /** Jobs and served jobs: a list, or what a module exports. When absent, the server shows runs and takes no jobs. */
  readonly jobs?: Readonly<Record<string, unknown>> | readonly unknown[] | undefined
  /** `127.0.0.1` when absent: only this machine. */
  readonly host?: string | undefined
  /** 4500 when absent; 0 takes a free one. */
  readonly port?: number | undefined
  /**
   * Where acknowledged work and results are: `memory` when absent, `sqlite:FILE`, or `postgres://HOST/DATABASE`, which several
   * servers may share.
   */
  readonly store?: string | undefined
  /**
   * An open journal instead of a store, of a process that shows its own runs: the server takes no jobs, steers the runs that it
   * is given with `adopt`, and leaves the journal open.
   */
  readonly journal?: Journal | undefined
  /** Where other servers on the same PostgreSQL reach this one: `http://10.0.0.5:4500`. The address it listens on when absent. */
  readonly advertise?: string | undefined
  /** A file with the secret that these servers share. Needed with `advertise`; a second line is the old or the next one. */
  readonly clusterSecret?: string | undefined
  /** Thread jobs at a time; as many as the machine runs at a time, and at least two, when absent. One more thread is kept for priority 0. */
  readonly threads?: number | undefined
  readonly limits?: ServerLimits | undefined
  /** Times and limits of the fleet: see docs/design/fleet.md. */
  readonly fleet?: FleetLimits | undefined
  /** Where artifacts are: `folder:PATH`, which servers on one PostgreSQL may share. Beside the store, or in the database, when absent. */
  readonly artifacts?: string | undefined
  /**
   * Addresses and networks (`10.0.0.0/8`) of proxies in front of this server. Many clients share such an address: its
   * connections are not limited by `limits.connectionsPerAddress`.
   */
  readonly trustedProxies?: readonly string[] | undefined
  /** Folder with the built files of the dashboard, which is at `/ui/`. When absent, the files that the package brings. */
  readonly ui?: string | undefined
  /** The file that `heddle analyze --inventory --json` has written: the dashboard shows what runs on the loop. */
  readonly inventory?: string | undefined
  /** Who a caller is and what it may do. When absent every caller may do everything. */
  readonly policy?: AccessPolicy | undefined
  /**
   * Who is shown why a job, the store or the server itself failed: callers that are logged in or have a token, with the
   * role operator; or everyone. The others see the code and a reference that the log has too. `operators` when absent.
   */
  readonly errorDetails?: 'operators' | 'everyone' | undefined
  /**
   * The structured log: one JSON object for each refusal, cancel, timeout, broken pipe and error of a job, and for what
   * `onLog` is given. None when absent.
   */
  readonly log?: LogOptions | undefined
  /** Server-side events that no client sees (warnings, job logs), one line each. */
  readonly onLog?: ((line: ServerLog) => void) | undefined
  /** The door was closed, whoever asked for it. Told once, with the milliseconds for what was admitted. */
  readonly onDrain?: ((deadline: number) => void) | undefined
  readonly kernel?: Kernel | undefined
}

const optionNames = {
  jobs: 1,
  host: 1,
  port: 1,
  store: 1,
  journal: 1,
  advertise: 1,
  clusterSecret: 1,
  threads: 1,
  limits: 1,
  fleet: 1,
  artifacts: 1,
  trustedProxies: 1,
  ui: 1,
  inventory: 1,
  policy: 1,
  errorDetails: 1,
  log: 1,
  onLog: 1,
  onDrain: 1,
  kernel: 1,
} satisfies OptionNames<ServerOptions>

/** What is checked here is checked before anything is opened. */
function checkServerOptions(options: ServerOptions): void {
  checkOptions(options, optionNames)
  const { host, port = 0, store, threads, limits = {}, trustedProxies, onLog, onDrain } = options
  if (host !== undefined) checkText('host', host)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    const expected = 'a whole number from 0 to 65535'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'port', value: port, expected })
  }
  if (store !== undefined) checkText('store', store)
  if (options.journal !== undefined) checkJournal(options)
  if (options.advertise !== undefined) checkAddress(options.advertise)
  if (options.clusterSecret !== undefined) checkText('clusterSecret', options.clusterSecret)
  if (options.artifacts !== undefined) checkText('artifacts', options.artifacts)
  if (options.ui !== undefined) checkText('ui', options.ui)
  if (options.inventory !== undefined) checkText('inventory', options.inventory)
  if (threads !== undefined) checkCount('threads', threads)
  checkLimits(limits)
  if (options.fleet !== undefined) checkFleetLimits(options.fleet)
  if (trustedProxies !== undefined && !isListOfText(trustedProxies)) {
    const expected = 'a list of addresses and networks'
    const value = trustedProxies
    throw new HeddleError('HDL_BAD_OPTION', { option: 'trustedProxies', value, expected })
  }
  if (options.policy !== undefined)
    checkMethods('policy', options.policy, ['callerOf', 'check'], '{ callerOf, check }')
  checkWord('errorDetails', options.errorDetails ?? 'operators', ['operators', 'everyone'])
  if (options.log !== undefined) checkLogOptions(options.log)
  if (onLog !== undefined) checkFunction('onLog', onLog)
  if (onDrain !== undefined) checkFunction('onDrain', onDrain)
}

function checkJournal({ journal, jobs, store }: ServerOptions): void {
  checkMethods('journal', journal!, ['overview', 'list'], 'an open journal')
  if (jobs === undefined && store === undefined) return
  const expected = 'undefined beside `jobs` or `store`: a server has one of them'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'journal', value: journal!.address, expected })
}

function checkAddress(advertise: string): void {
  checkText('advertise', advertise)
  if (URL.canParse(advertise) && /^https?:$/.test(new URL(advertise).protocol)) return
  const expected = 'an address such as http://10.0.0.5:4500'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'advertise', value: advertise, expected })
}

function checkFleetLimits(fleet: FleetLimits): void {
  checkOptions(fleet, fleetLimitNames, 'fleet')
  for (const [name, value] of Object.entries(fleet) as [string, number][]) {
    checkCount(`fleet.${name}`, value)
  }
}

function isListOfText(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

export interface ServerLog {
  readonly level: 'info' | 'warning'
  readonly text: string
}

export interface ServerStats extends ServiceStats {
  readonly state: ServerState
  readonly connections: ConnectionStats
  /** Bodies of requests that are on their way. */
  readonly arrivals: ArrivalStats
}

/** A server that listens. Made by {@link startServer}. */
export interface Server extends AsyncDisposable {
  readonly host: string
  readonly port: number
  readonly url: string
  /** Whether only this machine can reach it. */
  readonly isLocal: boolean
  /** Whether it has neither users nor tokens: everyone on this machine may do everything. */
  readonly isOpen: boolean
  /** Names of what is served. */
  readonly jobs: readonly string[]
  /** The workers of this server as a place for graphs of this process: `run(graph, { places: { fleet: server.fleet } })`. */
  readonly fleet: Place
  readonly state: ServerState
  /**
   * Takes no new work, waits for what was admitted, then stops. At the deadline who still waits is told.
   *
   * *Cancellation*: the signal counts as the deadline.
   */
  drain(options?: DrainOptions): Promise<Drained>
  /** Lets callers steer a run of this process, until it has ended. Only for a server that was given a journal. */
  adopt(run: Run): void
  /** Resolves when the server has stopped, whoever asked for it. */
  readonly stopped: Promise<Drained>
  stats(): ServerStats
}

const minute = 60_000

/**
 * Serves jobs over HTTP.
 *
 * *Cancellation*: none: it waits for the disk and the port only.
 *
 * @throws `HDL_BAD_OPTION`; `HDL_LOCKED` when another process uses the store; `HDL_STORE_FAILED`; `HDL_CANNOT_LISTEN`;
 * `HDL_OPEN_TO_OTHERS` on an address that others reach, without users or tokens.
 * @example
 * await using server = await startServer({ jobs: [square], port: 0 })
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  checkServerOptions(options)
  const { host = '127.0.0.1', port = 4500, limits = {} } = options
  const kernel = kernelOf(options)
  await using parts = new CleanupStack()
  const structured = await openLog(options, kernel)
  parts.defer(() => structured?.stop())
  const log = (level: ServerLog['level'], text: string): void => {
    structured?.say(level, text)
    options.onLog?.({ level, text })
  }
  const note = (event: LogEvent): void => structured?.note(event)
  const context = await openContext(options, kernel, { log, note }, parts)
  const { storeWatch, loop, pool } = context

  const people = new People(context.store.tables, kernel)
  const fleet = openFleetRoom(context, {
    people,
    isLazy: options.jobs === undefined || (options.store ?? 'memory') === 'memory',
    limits: options.fleet,
  })
  parts.defer(() => fleet.stop())
  const places = { ...context.places, fleet: fleetPlace(fleet.dispatch) }
  const jobs = await openJobsRoom({ ...context, places }, (job, ms, isDone) =>
    machine.history.noteEnded(job, ms, isDone),
  )
  parts.defer(() => jobs.stop())
  const policy = new PeoplePolicy(people, {
    clock: kernel.clock,
    trustedProxies: options.trustedProxies ?? [],
  })
  const { own, rooms: runRooms } = openRunRooms(
    { ...context, places },
    auditTo(people, policy),
    options.journal !== undefined,
  )
  for (const room of runRooms) parts.defer(() => room.stop())
  const { cluster } = context
  const peopleRoom = openPeopleRoom({ people, policy, kernel })
  parts.defer(() => peopleRoom.stop())
  const isOpen = options.policy === undefined && (await people.isOpen())
  if (isOpen && !isLoopback(host)) throw new HeddleError('HDL_OPEN_TO_OTHERS', { host })
  const machine = openMachineRoom({
    clock: kernel.clock,
    loop,
    pool,
    cluster,
    jobs: () => jobs.stats(),
    fleet,
    tables: (cluster?.database ?? context.store).tables,
    inventory: options.inventory,
  })
  parts.defer(() => machine.stop())
  const artifacts = openArtifactsRoom({
    store: context.artifacts,
    fleet: fleet.fleet,
    tables: (cluster?.database ?? context.store).tables,
  })
  const clusterRooms = cluster === undefined ? [] : [cluster.room()]
  const rooms: readonly Room[] = [
    jobs,
    ...runRooms,
    fleet,
    artifacts,
    peopleRoom,
    machine,
    ...clusterRooms,
  ]
  const drain = new Drain(rooms, {
    deadline: limits.drain ?? 10_000,
    clock: kernel.clock,
    onBegin: options.onDrain,
  })
  const connections = new Connections({
    most: limits.connections ?? 10_000,
    perAddress: limits.connectionsPerAddress,
    trustedProxies: options.trustedProxies ?? [],
    clock: kernel.clock,
    onRefused: (address, code) => note({ event: 'refused', code, address }),
  })
  const arrivals = new Arrivals({
    most: limits.bodies ?? 128,
    limit: limits.arrival ?? minute,
    clock: kernel.clock,
    random: kernel.random,
  })
  const ui = await openUiRoom(options.ui)
  const { clock } = kernel
  const { readyGap = 250 } = limits
  const routeMetrics = new RouteMetrics()
  const figures = {
    drain,
    loop,
    pool,
    storeWatch,
    connections,
    arrivals,
    routeMetrics,
    log: () => structured?.stats(),
    clock,
    readyGap,
  }
  const admin = adminRoom({ rooms, ...figures })
  const open = new OpenResponses(limits.sending ?? minute)
  const servers: HttpServer[] = []
  let listener: RequestListener | undefined
  const links = cluster && new LinkDoor({ cluster, listener: () => listener!, clock: kernel.clock })
  const makeServer = (given: RequestListener): HttpServer => {
    const headLimit = limits.head ?? 10_000
    const limited = { headLimit, connections, open, note, clock: kernel.clock }
    const made = makeHttpServer(given, limited)
    links?.follow(made)
    servers.push(made)
    return made
  }
  const app = makeApp({
    rooms: [...rooms, admin, ...(ui === undefined ? [] : [ui])],
    policy: cluster?.forwarding.policyOver(options.policy ?? policy) ?? options.policy ?? policy,
    forwarding: cluster?.forwarding,
    errorDetails: options.errorDetails ?? 'operators',
    log,
    note,
    retryAfter: () => jobs.retryAfter(),
    requestLimit: limits.request ?? 10 * minute,
    makeServer: (given) => makeServer((listener = given)),
    connections,
    arrivals,
    open,
    routeMetrics,
    storeWatch,
    isDraining: () => drain.state !== 'accepting',
    clock: kernel.clock,
    host,
  })
  machine.history.follow(app)
  parts.defer(() => closeApp(app, servers, open, kernel.clock))

  // Validators of all routes are compiled here, before any request and before the loop is watched.
  await app.ready()
  if (limits.loopGap !== Infinity) await loop.start()
  for (const room of rooms) await room.start()
  const [first, ...others] = host === 'localhost' ? await localAddresses() : [host]
  const backlog = limits.backlog ?? 4_096
  await listen(app, { host: first!, port, backlog })
  const bound = app.server.address() as AddressInfo
  for (const name of others) {
    await listenToo(makeServer(listener!), { host: name, port: bound.port, backlog })
  }

  await cluster?.start(urlOf(bound))
  const rest = parts.move()
  const stopped = drain.ended.then(async (drained): Promise<Drained> => {
    await links?.stop(drain.isHurried ? 0 : closeGrace)
    // Requests that are on their way are answered too: 503 with `Connection: close`, and their clients leave.
    if (!drain.isHurried) await connections.emptied(closeQuiet, closeGrace, kernel.clock)
    await rest[Symbol.asyncDispose]()
    return storeWatch.look() ? { isClean: false, isStoreFailed: true } : drained
  })
  return {
    host: bound.address,
    port: bound.port,
    isLocal: isLoopback(bound.address),
    isOpen,
    jobs: jobs.jobs,
    fleet: places.fleet,
    url: urlOf(bound),
    get state() {
      return drain.state
    },
    drain: async (how) => {
      drain.begin(how)
      return stopped
    },
    adopt: (run) => {
      if (options.journal === undefined || own === undefined) {
        const expected = 'given: a server with a store starts its own runs'
        throw new HeddleError('HDL_BAD_OPTION', { option: 'journal', value: undefined, expected })
      }
      own.adopt(run)
    },
    stopped,
    stats: () => ({
      ...jobs.stats(),
      state: drain.state,
      connections: connections.stats(),
      arrivals: arrivals.stats(),
    }),
    async [Symbol.asyncDispose]() {
      drain.begin({ deadline: 0 })
      await stopped
    },
  }
}

function urlOf({ family, address, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/** Milliseconds between looks for runs of servers that are gone (C1). */
const takeOverEvery = 1_000

interface RunRooms {
  /** Undefined where runs are only shown. */
  readonly own: OwnRuns | undefined
  readonly rooms: readonly Room[]
}

/** Runs, and schedules that start them. Without jobs it is a window into a journal that other processes write. */
function openRunRooms(context: ServerContext, audit: Audit, isOwnJournal: boolean): RunRooms {
  const { journal, artifacts, kernel, capacity, places, log, exported, store } = context
  const most = 1_000
  if (exported === undefined) {
    const graphs = graphTable([])
    const shared = { journal, artifacts, graphs, capacity, places, kernel, log, most }
    const own = isOwnJournal ? new OwnRuns(shared) : undefined
    return { own, rooms: [openRunViewsRoom({ journal, kernel, own, audit })] }
  }
  const { definitions, graphs } = exportedSchedules(exported, graphTable(exported))
  const onEnded = (): void => room.poke()
  const own = new OwnRuns({
    journal,
    artifacts,
    graphs,
    capacity,
    places,
    kernel,
    log,
    most,
    onEnded,
  })
  const shared = { tables: store.tables, runner: own, log }
  const starts = new DelayedStarts({ ...shared, kernel, onChange: () => room.poke() })
  const schedules = new Schedules({ ...shared, exported: definitions })
  const room = openSchedulesRoom({
    ...shared,
    graphs,
    schedules,
    starts,
    clock: kernel.clock,
    isShared: context.cluster !== undefined,
    audit,
  })
  const links = new ApprovalLinks({
    tables: store.tables,
    send: (run, signal, value, by) => own.signal(run, signal, value, by),
  })
  const takeOver = new RunTakeOver({ journal, own, kernel, log })
  const { clock } = kernel
  const looks = { parts: [takeOver], tables: store.tables, clock, log, what: 'Interrupted runs' }
  const ticker = context.cluster && new Ticker({ ...looks, every: takeOverEvery })
  const runs = { journal, kernel, graphs, own, starts, links, takeOver, ticker, audit }
  return { own, rooms: [openRunsRoom(runs), room] }
}

/** Opens what rooms are made from; `parts` closes it. */
async function openContext(
  options: ServerOptions,
  kernel: Kernel,
  { log, note }: Pick<ServerContext, 'log' | 'note'>,
  parts: CleanupStack,
): Promise<ServerContext> {
  const { limits = {} } = options
  // Before anything is opened: a module without jobs is the mistake that is made most often.
  jobTable(options.jobs)
  const { journal: address, ...rest } = storeOf(options.store ?? 'memory')
  // A window into a journal leaves nothing of its own in it: it holds no lock, stores no results and owns no shard.
  const isWindow = options.jobs === undefined
  const { cache: resultsFolder, lock, isShared } = isWindow ? nothingOwn : rest
  // Runs may write to the same file; a second server would take over the acknowledged jobs of this one.
  if (lock !== undefined) parts.use(await holdLock(lock, { command: commandLine(), kernel }))
  // A client is answered with 503 at once, and may try again: the server does not try for it.
  const journal =
    options.journal ?? parts.use(await openJournal(address, { kernel, retry: { for: 0 } }))
  const cluster = isShared ? await openCluster(address, kernel, clusterOptions(options)) : undefined
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
  const pool = parts.use(new ThreadPool({ capacity, kernel }))
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

async function openLog(
  { log, onLog }: ServerOptions,
  kernel: Kernel,
): Promise<StructuredLog | undefined> {
  if (log === undefined) return undefined
  return StructuredLog.open(log, kernel, (text) => onLog?.({ level: 'warning', text }))
}

interface Listening {
  readonly host: string
  readonly port: number
  readonly backlog: number
}

async function listen(app: FastifyInstance, listening: Listening): Promise<void> {
  const { host, port } = listening
  try {
    await app.listen({ ...listening })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const problem = listenProblems[code ?? ''] ?? message
    throw new HeddleError('HDL_CANNOT_LISTEN', { host, port, problem }, { cause: error })
  }
}

const listenProblems: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'this user may not',
  ENOTFOUND: 'nobody knows this name',
}

/** What the name means on this machine: often an address of each family, and clients take either. */
async function localAddresses(): Promise<string[]> {
  const found = await lookup('localhost', { all: true }).catch(() => [])
  const addresses = new Set(found.map(({ address }) => address))
  return addresses.size === 0 ? ['localhost'] : [...addresses]
}

/** Listens on one more address. Without it the server is reached by the first one. */
async function listenToo(server: HttpServer, listening: Listening): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.once('listening', resolve)
  server.once('error', () => resolve())
  server.listen(listening)
  await promise
}

/** Milliseconds in which last answers are read, before connections are cut. */
const closeGrace = 1_000
/** Milliseconds without a connection after which no client is on its way. */
const closeQuiet = 100

/** Who is still being answered gets the whole answer; who is still sending a request does not keep us. */
async function closeApp(
  app: FastifyInstance,
  servers: readonly HttpServer[],
  open: OpenResponses,
  clock: Clock,
): Promise<void> {
  const cutAt = clock.now() + closeGrace
  await open.settled(closeGrace, clock)
  const rest = Math.max(0, cutAt - clock.now())
  const timer = clock.setTimer(rest, () => {
    for (const server of servers) server.closeAllConnections()
  })
  const [, ...others] = servers
  await Promise.all([app.close(), ...others.map((server) => closeServer(server))])
  timer.cancel()
}

async function closeServer(server: HttpServer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // An error means that it does not listen.
  server.close(() => resolve())
  server.closeIdleConnections()
  await promise
}

/** A journal, and beside it the folder of the results. */
function commandLine(): string {
  return process.argv.slice(1).join(' ') || 'node'
}

interface StorePlaces {
  readonly journal: string
  readonly cache: string | undefined
  /** Held by the server that uses the store. */
  readonly lock: string | undefined
  /** Whether several servers may use it. */
  readonly isShared: boolean
}

const nothingOwn = { cache: undefined, lock: undefined, isShared: false } as const

function clusterOptions({ advertise, clusterSecret }: ServerOptions): ClusterOptions {
  return { advertise, secretFile: clusterSecret }
}

function storeOf(store: string): StorePlaces {
  const none = { cache: undefined, lock: undefined }
  if (store === 'memory') return { journal: store, ...none, isShared: false }
  if (/^postgres(ql)?:/.test(store)) return { journal: store, ...none, isShared: true }
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
