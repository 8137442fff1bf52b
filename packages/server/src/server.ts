/** Puts the parts together, and takes them apart in the reverse order. */
import type { RequestListener, Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HeddleError, type Place, type Run } from '@heddle/core'
import { CleanupStack, fleetPlace, kernelOf, type Kernel } from '@heddle/core/lowlevel'
import { openArtifactsRoom } from './artifacts/artifacts-room.ts'
import { LinkDoor } from './cluster/link-door.ts'
import { openFleetRoom } from './fleet/fleet-room.ts'
import { adminRoom } from './http/admin-room.ts'
import { makeApp } from './http/app.ts'
import { isLoopback } from './http/browsers.ts'
import type { PlacedContext } from './http/context.ts'
import { Failures } from './http/failures.ts'
import { makeHttpServer } from './http/http-server.ts'
import { Arrivals, type ArrivalStats } from './http/lifecycle/arrivals.ts'
import { CallerWatch } from './http/lifecycle/caller-watch.ts'
import { Connections, type ConnectionStats } from './http/lifecycle/connections.ts'
import { Drain, type DrainOptions, type ServerState } from './http/lifecycle/drain.ts'
import { OpenResponses } from './http/lifecycle/open-responses.ts'
import {
  closeApp,
  closeGrace,
  closeQuiet,
  listen,
  listenToo,
  localAddresses,
  urlOf,
} from './http/listening.ts'
import { usualLoopBody } from './http/parse-json.ts'
import { RouteMetrics } from './http/metrics/route-metrics.ts'
import type { Drained, Room } from './http/room.ts'
import { openJobsRoom } from './jobs/jobs-room.ts'
import type { ServiceStats } from './jobs/service.ts'
import type { ServerLimits } from './limits.ts'
import type { LogEvent } from './log/log-event.ts'
import { StructuredLog } from './log/structured-log.ts'
import { openContext } from './open-context.ts'
import { openRunRooms } from './open-run-rooms.ts'
import { auditTo } from './people/audit.ts'
import { People } from './people/people.ts'
import { PeoplePolicy } from './people/policy.ts'
import { openPeopleRoom } from './people/people-room.ts'
import { checkServerOptions, type ServerLog, type ServerOptions } from './server-options.ts'
import { openMachineRoom } from './ui/machine-room.ts'
import { openUiRoom } from './ui/ui-room.ts'

export type { ServerLimits, ServerLog, ServerOptions }

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
  /** Whether it has no users and no tokens: every caller on this machine may do everything. */
  readonly isOpen: boolean
  /** Names of the served jobs. */
  readonly jobs: readonly string[]
  /** Names of the graphs that can be started: `POST /runs`. */
  readonly graphs: readonly string[]
  /** Names of the schedules that the module exports. */
  readonly schedules: readonly string[]
  /** The workers of this server as a place for graphs of this process: `run(graph, { places: { fleet: server.fleet } })`. */
  readonly fleet: Place
  readonly state: ServerState
  /**
   * Takes no new work, waits for admitted work, then stops. At the deadline callers that still wait get an answer.
   *
   * *Cancellation*: the signal counts as the deadline.
   */
  drain(options?: DrainOptions): Promise<Drained>
  /** Lets callers steer a run of this process, until it has ended. Only for a server that was given a journal. */
  adopt(run: Run): void
  /** Resolves when the server has stopped, for whatever reason. */
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

  const people = new People(context.store.tables, kernel, { actionAge: limits.actionAge })
  const fleet = openFleetRoom(context, {
    people,
    isLazy: options.jobs === undefined || (options.store ?? 'memory') === 'memory',
    limits: options.fleet,
  })
  parts.defer(() => fleet.stop())
  const placed: PlacedContext = {
    ...context,
    placesOf: (tenant) => ({ ...context.places, fleet: fleetPlace(fleet.dispatch, tenant) }),
  }
  const jobs = await openJobsRoom(placed, (job, ms, isDone) =>
    machine.history.noteEnded(job, ms, isDone),
  )
  parts.defer(() => jobs.stop())
  const policy = new PeoplePolicy(people, {
    clock: kernel.clock,
    trustedProxies: options.trustedProxies ?? [],
  })
  const {
    own,
    graphs,
    schedules,
    rooms: runRooms,
  } = openRunRooms(placed, auditTo(people, policy), options.journal !== undefined)
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
    chores: context.chores,
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
    journal: context.journal,
    jobs,
    tables: (cluster?.database ?? context.store).tables,
    cluster,
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
    onCrash: () => jobs.blameRunning(),
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
  const failures = new Failures()
  const figures = {
    drain,
    loop,
    pool,
    storeWatch,
    connections,
    arrivals,
    routeMetrics,
    failures,
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
  const ownPolicy = options.policy ?? policy
  const callers = new CallerWatch({ open, policy: ownPolicy, clock })
  parts.defer(() => callers.stop())
  const app = makeApp({
    rooms: [...rooms, admin, ...(ui === undefined ? [] : [ui])],
    policy: cluster?.forwarding.policyOver(ownPolicy) ?? ownPolicy,
    callers,
    forwarding: cluster?.forwarding,
    parsing: {
      chores: context.chores,
      clock: kernel.clock,
      loopBody: limits.loopBody ?? usualLoopBody,
    },
    errorDetails: options.errorDetails ?? 'operators',
    failures,
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
  await callers.start()
  const [first, ...others] = host === 'localhost' ? await localAddresses() : [host]
  const backlog = limits.backlog ?? 4_096
  await listen(app, { host: first!, port, backlog })
  const bound = app.server.address() as AddressInfo
  for (const name of others) {
    await listenToo(makeServer(listener!), { host: name, port: bound.port, backlog })
  }

  await cluster?.start(urlOf(bound), ({ message }) => {
    log('warning', `This server is too old for its store, and drains. ${message}`)
    drain.begin()
  })
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
    graphs,
    schedules,
    fleet: fleetPlace(fleet.dispatch),
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

async function openLog(
  { log, onLog }: ServerOptions,
  kernel: Kernel,
): Promise<StructuredLog | undefined> {
  if (log === undefined) return undefined
  return StructuredLog.open(log, kernel, (text) => onLog?.({ level: 'warning', text }))
}
