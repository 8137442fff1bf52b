/** One run of the generator against servers of ours: ramp, steady load with accidents, and the comparison of both sides at the end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CleanupStack } from '@heddle/core/lowlevel'
import { endsWithin } from './ends-within.ts'
import { SlowSenders, WaitingClaims } from './idle-crowd.ts'
import { Load, type LoadFigures } from './load.ts'
import { HeddleServer, type LoadedServer } from './server-process.ts'

export interface Scenario {
  readonly workers: number
  readonly speed: number
  /** `memory`, `sqlite:FILE` or `postgres://…`. */
  readonly store: string
  /** Seconds. */
  readonly ramp: number
  readonly seconds: number
  readonly servers: number
  /** The part of the connections that are cut in the middle of the steady phase. */
  readonly kill: number
  /** kill -9 of the first server in the middle, and its start 5 s later. */
  readonly restart: boolean
  /** Senders of a byte a second. */
  readonly slow: number
  /** Claims that wait beside the load. */
  readonly longpoll: number
  /** Options of Node for the server: `--cpu-prof`. */
  readonly execArgv?: readonly string[]
  /** Milliseconds for all of it; 380,000 when absent. Then it ends with an error that names the phase. */
  readonly limit?: number
  /** Another server than ours, on the same store. */
  readonly peer?: (store: string) => LoadedServer
}

export interface ScenarioReport {
  readonly ramp: LoadFigures
  readonly steady: LoadFigures
  readonly cpuUsPerRequest: number
  readonly rssMb: number
  readonly commitsPerSecond: number
  readonly rowsPerSecond: number
  /** The counts of the servers at the end. */
  readonly serverHeld: number
  readonly serverUnits: number
  /** The counts of the workers then. */
  readonly workerHeld: number
  readonly workerUnits: number
  /** Leases and units are the same on both sides. */
  readonly isEqual: boolean
  /** After --restart: how the workers came back. */
  readonly returned?: { readonly workers: number; readonly seconds: number; readonly herd: number }
  readonly waitingClaimsP99?: number
  readonly slowCutOff?: number
}

const restartAfter = 5_000
/** Milliseconds: less than a row of the bench has. */
const usualLimit = 380_000
/** Milliseconds for a lease of the load: none goes stale while its worker is on its way back. */
const staleMs = 360_000

/**
 * Plays a scenario.
 *
 * *Cancellation*: none; it ends within `scenario.limit`, and then ends its servers.
 */
export async function runScenario(
  scenario: Scenario,
  say: (line: string) => void,
): Promise<ScenarioReport> {
  await using stack = new CleanupStack()
  let phase = 'starting the servers'
  const enter = (next: string): void => {
    phase = next
    say(next)
  }
  const { limit = usualLimit } = scenario
  const played = play(scenario, stack, enter, say)
  try {
    return await endsWithin(limit, 'the scenario', played)
  } catch (error) {
    throw new Error(`${phase}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

async function play(
  scenario: Scenario,
  stack: CleanupStack,
  enter: (phase: string) => void,
  say: (line: string) => void,
): Promise<ScenarioReport> {
  const servers: LoadedServer[] = []
  for (let index = 0; index < scenario.servers; index++) {
    const server =
      scenario.peer?.(scenario.store) ?? new HeddleServer(scenario.store, scenario.execArgv)
    // A server that does not come up in time is ended too.
    stack.use(server)
    servers.push(await server.start())
  }
  if (servers.length > 1) enter('waiting until the servers share the shards')
  await waitForShares(servers)
  enter('creating the campaigns')
  const campaigns = await Promise.all(servers.map((server) => createCampaign(server, scenario)))
  const { workers, speed, ramp, seconds } = scenario
  const load = new Load({ workers, speed, servers, ramp: ramp * 1_000 })
  stack.defer(() => load.stop())
  load.start()
  enter('waiting until all workers have a lease')
  const until = performance.now() + ramp * 1_000 + 120_000
  while (load.held < workers && performance.now() < until) await sleep(50)
  const rampFigures = load.figures()
  say(`${load.held} of ${workers} workers have a lease after ${rampFigures.seconds} s`)

  const [first] = servers as [LoadedServer]
  const claims =
    scenario.longpoll > 0 ? new WaitingClaims(first, scenario.longpoll, 20_000) : undefined
  const slow = scenario.slow > 0 ? new SlowSenders(first, scenario.slow) : undefined
  stack.defer(() => {
    claims?.stop()
    slow?.stop()
  })
  load.reset()
  enter('steady load')
  const before = await usageOf(servers)
  await sleep((seconds * 1_000) / 2)
  if (scenario.kill > 0) load.cut(scenario.kill)
  let returned: ScenarioReport['returned']
  let lostUsage = { cpuUs: 0, commits: 0, rows: 0 }
  if (scenario.restart) {
    const atKill = await usageOf([first])
    lostUsage = atKill
    await first.kill()
    await sleep(restartAfter)
    await first.start()
    load.watchReturn()
  }
  await sleep((seconds * 1_000) / 2)
  const steady = load.figures()
  const after = await usageOf(servers)
  if (scenario.restart) returned = load.returned()
  enter('waiting for the last answers')
  await load.settle()
  enter('comparing both sides')

  const { held, units } = load.figures()
  const serverHeld = await sum(
    servers,
    (server) => server.get<{ held: number }>('/fleet/summary'),
    'held',
  )
  let serverUnits = 0
  for (const [index, server] of servers.entries()) {
    serverUnits += (await server.get<{ done: number }>(`/campaigns/${campaigns[index]!}`)).done
  }
  const cpuUs = after.cpuUs + lostUsage.cpuUs - before.cpuUs
  return {
    ramp: rampFigures,
    steady,
    cpuUsPerRequest: Math.round(cpuUs / steady.requests),
    rssMb: Math.round(after.rss / 2 ** 20),
    commitsPerSecond: perSecond(after.commits + lostUsage.commits - before.commits, steady),
    rowsPerSecond: perSecond(after.rows + lostUsage.rows - before.rows, steady),
    serverHeld,
    serverUnits,
    workerHeld: held,
    workerUnits: units,
    isEqual: serverHeld === held && serverUnits === units,
    ...(returned !== undefined && { returned }),
    ...(claims !== undefined && { waitingClaimsP99: claims.latency.figures().p99 }),
    ...(slow !== undefined && { slowCutOff: slow.cutOff }),
  }
}

function perSecond(count: number, { seconds }: LoadFigures): number {
  return Math.round((count / seconds) * 10) / 10
}

async function usageOf(
  servers: readonly LoadedServer[],
): Promise<{ cpuUs: number; rss: number; commits: number; rows: number }> {
  let [cpuUs, rss, commits, rows] = [0, 0, 0, 0]
  for (const server of servers) {
    const usage = await server.usage()
    cpuUs += usage.cpuUs
    rss = Math.max(rss, usage.rss)
    commits += await server.metric('heddle_fleet_commits_total')
    rows += await server.metric('heddle_fleet_rows_total')
  }
  return { cpuUs, rss, commits, rows }
}

async function sum<K extends string>(
  servers: readonly LoadedServer[],
  ask: (server: LoadedServer) => Promise<Record<K, number>>,
  key: K,
): Promise<number> {
  let total = 0
  for (const server of servers) total += (await ask(server))[key]
  return total
}

async function createCampaign(server: LoadedServer, { speed }: Scenario): Promise<string> {
  const { id } = await server.post<{ id: string }>('/campaigns', {
    name: 'load',
    job: 'load',
    units: 1_000_000_000,
    outcomes: ['L', 'D', 'W'],
    input: { engine: 'a', opponent: 'b', time_control: '10+0.1', book: 'UHO_4060_v2.epd' },
    lease_ms: Math.max(100, Math.round(1_800_000 / speed)),
    beat_ms: 120_000,
    stale_ms: staleMs,
  })
  return id
}

/** Servers on one database first share the shards: campaigns keep a shard where it is. */
async function waitForShares(servers: readonly LoadedServer[]): Promise<void> {
  if (servers.length === 1) return
  const share = 256 / servers.length
  for (let round = 0; round < 600; round++) {
    const found = await Promise.all(
      servers.map((server) => server.get<{ cluster?: { shards: number } }>('/healthz')),
    )
    if (found.every(({ cluster }) => Math.abs((cluster?.shards ?? 0) - share) <= 1)) return
    await sleep(100)
  }
  throw new Error('the servers did not share the shards')
}
