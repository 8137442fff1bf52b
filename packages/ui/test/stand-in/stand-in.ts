/** A server of made runs behind the routes of the contract: it only answers reads, nothing happens in it. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readSite } from '../../../server/src/ui/site.ts'
import { buildUi } from '../../build/build.ts'
import type { MadeRun } from './made-run.ts'

export interface StandIn extends AsyncDisposable {
  readonly url: string
}

export interface StandInOptions {
  /** Sends what happens in a run, for as long as the response is open. Without it nothing happens. */
  readonly events?: (run: string, response: ServerResponse) => void
}

export async function serveMade(
  runs: readonly MadeRun[],
  { events }: StandInOptions = {},
): Promise<StandIn> {
  const site = await readSite(await buildUi())
  const byId = new Map(runs.map((run) => [run.summary.id, run]))
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://x')
    if (pathname.startsWith('/ui/')) {
      const found = site.answer(pathname.slice(4), {
        encodings: request.headers['accept-encoding'],
      })
      response.writeHead(found?.status ?? 404, found?.headers).end(found?.body)
      return
    }
    const [, followed] = /^\/runs\/([^/]+)\/events$/.exec(pathname) ?? []
    if (followed !== undefined && events !== undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      events(decodeURIComponent(followed), response)
      return
    }
    const value = answer(pathname, searchParams)
    response.writeHead(value === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(
        value ?? {
          error: { code: 'HDL_UNKNOWN_RUN', message: 'There is no such run.', retryable: false },
        },
      ),
    )
  })
  const answer = (path: string, query: URLSearchParams): unknown => {
    if (path === '/runs') {
      const state = query.get('state')
      const found = runs
        .map((run) => run.summary)
        .filter((run) => state === null || run.outcome === state)
      return { runs: found.slice(0, Number(query.get('limit') ?? 50)), next: null }
    }
    if (path === '/runs/counts') {
      const counts = Object.groupBy(runs, (run) => run.summary.outcome)
      return {
        counts: Object.fromEntries(Object.entries(counts).map(([k, v]) => [k, v.length])),
        total: runs.length,
      }
    }
    const [, root, id = '', part, name = ''] = path.split('/').map(decodeURIComponent)
    if (root === 'artifacts') return { artifacts: artifactsOf(id, query.get('by') ?? '') }
    if (root !== 'runs') return undefined
    const run = byId.get(id)
    if (run === undefined) return undefined
    if (part === undefined) return run.head
    if (part === 'graph') return run.edges
    if (part === 'timeline') return run.timeline
    if (part === 'log') return { lines: [], next: null, position: run.head.position }
    if (part === 'forecast') {
      const ms = run.head.elapsed_ms * (6 / Number(query.get('concurrency')))
      return {
        duration_ms: Math.max(ms, run.head.critical_path.length_ms / 3),
        recorded_ms: run.head.elapsed_ms,
        critical_path_ms: run.head.critical_path.length_ms / 3,
      }
    }
    if (part === 'nodes' && name === '') return run.nodes
    return part === 'nodes' ? detailOf(run, name) : undefined
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Only assembling jobs leave files. */
function artifactsOf(run: string, by: string): readonly object[] {
  if (by !== 'merge') return []
  const common = { run, by, sha256: '0'.repeat(64), created_at: 0 }
  return [
    { ...common, name: 'scores.csv', length: 48_230 },
    { ...common, name: 'plots/scores-by-station.svg', length: 12_904 },
  ]
}

function detailOf(run: MadeRun, name: string): unknown {
  const { nodes, timeline, edges } = run
  const index = nodes.name.indexOf(name)
  if (index < 0) return undefined
  const bars = timeline.node.flatMap((node, bar) => (node === index ? [bar] : []))
  const start = run.summary.started_at
  return {
    position: run.head.position,
    index,
    name,
    job: nodes.jobs[nodes.job[index]!],
    place: nodes.places[nodes.place[index]!],
    state: 'succeeded',
    parent: null,
    after: edges.after
      .slice(edges.offsets[index], edges.offsets[index + 1])
      .map((node) => nodes.name[node]),
    before: [],
    before_more: 0,
    ready_at: start + nodes.ready[index]!,
    started_at: start + nodes.started[index]!,
    ended_at: start + nodes.ended[index]!,
    run_ms: nodes.ended[index]! - nodes.started[index]!,
    queued_ms: nodes.started[index]! - nodes.ready[index]!,
    slack_ms: nodes.slack[index],
    is_critical: nodes.slack[index] === 0,
    blocked_by: null,
    attempts: bars.map((bar) => ({
      number: timeline.attempt[bar],
      queued_at: start + timeline.queued[bar]!,
      started_at: start + timeline.started[bar]!,
      ended_at: start + timeline.ended[bar]!,
      outcome: timeline.outcome[bar] === 2 ? 'failed' : 'succeeded',
      ...(timeline.outcome[bar] === 2 && {
        error: {
          name: 'Error',
          message: 'connection reset by peer',
          stack: 'Error: connection reset by peer\n    at fetchItem (jobs.ts:12:9)',
        },
      }),
      suspended: [],
    })),
    progress: null,
    waits: null,
    result: { bytes: 42, json: { item: name, score: 0.81, tags: ['a', 'b'] } },
    input: { bytes: 12, json: { item: index } },
    log_lines: 0,
  }
}
