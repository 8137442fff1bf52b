/** The room of runs: shows those of a journal, starts and steers those of this server (docs/design/runs-room.md). */
import { HeddleError, isError } from '@heddle/core'
import {
  SeatRate,
  outcomeOf,
  type Journal,
  type Kernel,
  type WaitOptions,
} from '@heddle/core/lowlevel'
import * as contracts from '../client/contract/runs.ts'
import {
  activeOutcomes,
  endedOutcomes,
  hasEnded,
  type RunOutcome,
} from '../client/contract/runs.ts'
import type { Room } from '../http/room.ts'
import { route, type Call, type Route } from '../http/route.ts'
import { tenantsOf } from '../http/tenancy.ts'
import type { Caller } from '../http/caller.ts'
import type { Audit } from '../people/audit.ts'
import type { DelayedStarts } from '../schedules/delayed-starts.ts'
import type { Ticked, Ticker } from '../schedules/ticker.ts'
import type { FastifyReply } from 'fastify'
import type { ApprovalLinks } from './approval-links.ts'
import { answeredPage, approvalHeaders, approvalPage, refusedPage } from './approval-page.ts'
import { EventStream } from './event-stream.ts'
import { refuseGraph, type GraphTable } from './graph-table.ts'
import { ListStream } from './list-stream.ts'
import type { OwnRuns, SteerAnswer } from './own-runs.ts'
import { openRunsReader, type RunsReader } from './runs-reader.ts'
import { checkRun, ownRuns, tallyOf } from './run-tenants.ts'
import { streamRun } from './run-stream.ts'
import type { PointInput, ViewQuestion } from './run-views.ts'
import { summaryView, type LoopGapInput } from './record-views.ts'

/** Streams at a time; a page has one. */
const mostStreams = 1_000

/** Counting all runs is bounded work, but not free: it is done at most once in this time. */
const tallyEvery = 1_000

/** The same for runs of one tenant, which are counted by reading the newest runs of all. */
const slowTally = 5_000

/** Tenants whose last query is remembered. */
const mostTenants = 1_000

interface Tally {
  readonly at: number
  readonly counts: ReturnType<Journal['tally']>
}

interface ViewOptions {
  readonly journal: Journal
  readonly kernel: Kernel
  /** Milliseconds in which a client must take some more of a stream: `limits.sending`. */
  readonly sendLimit: number
  readonly loop: LoopSource
  /** Undefined where runs are only shown. */
  readonly own: OwnRuns | undefined
}

/** The watch of the event loop, as far as timelines need it. */
export interface LoopSource {
  stats(): { readonly recent: readonly LoopGapInput[] }
}

export interface RunsRoomOptions {
  readonly journal: Journal
  readonly kernel: Kernel
  readonly sendLimit: number
  readonly loop: LoopSource
  readonly graphs: GraphTable
  readonly own: OwnRuns
  readonly starts: DelayedStarts
  readonly links: ApprovalLinks
  readonly takeOver: Ticked
  /** Looks at it again and again, where other servers share the store. */
  readonly ticker: Pick<Ticker, 'start' | 'stop'> | undefined
  readonly audit: Audit
}

/** Shows, starts and steers runs. */
export function openRunsRoom(options: RunsRoomOptions): Room {
  const { journal, graphs, own, starts, links, takeOver, ticker, audit } = options
  const views = new RunRoutes(options)
  const changes: readonly Route[] = [
    route(contracts.listGraphs, () => ({
      graphs: Array.from(graphs.keys(), (name) => ({ name, description: null, args: null })),
    })),
    route(contracts.startRun, async (call) => {
      const { body, caller, reply } = call
      const { graph, args, key, title, start_at: at, debounce } = body
      if (!graphs.has(graph)) refuseGraph(graphs, graph)
      if (at === undefined && debounce === undefined) {
        const answer = await own.start({ graph, args, key, title, tenant: caller.tenant })
        // A caller that attaches to a run changes nothing.
        if (answer.how === 'started') await audit(call, 'run started', answer.run, graph)
        void reply.code(answer.how === 'started' ? 201 : 200)
        return answer
      }
      const answer = await starts.request({
        graph,
        args,
        key,
        title,
        by: caller.name,
        tenant: caller.tenant,
        startAt: at === undefined ? undefined : readInstant(at),
        debounce: debounce && {
          key: debounce.key,
          delay: debounce.delay_ms,
          most: debounce.most_ms,
        },
      })
      if (answer.run !== null) {
        if (answer.how === 'started') await audit(call, 'run started', answer.run, graph)
        void reply.code(answer.how === 'started' ? 201 : 200)
        return answer
      }
      await audit(call, 'run planned', answer.start, graph)
      void reply.code(202)
      const { run, how, start, dueAt } = answer
      return { run, how, start, due_at: dueAt }
    }),
    ...steeringRoutes(journal, own, audit),
    route(
      contracts.retryFromNode,
      async (call) => {
        const { id, name } = call.params
        const { run } = await own.retryFrom(id, name)
        await audit(call, 'run started', run, `from ${name} of ${id}`)
        void call.reply.code(201)
        return { run, forked_from: id }
      },
      ofRun(journal),
    ),
    ...approvalRoutes(journal, links, audit),
  ]
  return {
    name: 'runs',
    routes: [...views.routes, ...changes],
    async start() {
      await takeOver.look(0, new AbortController().signal)
      await ticker?.start()
    },
    drain: async ({ signal }) => {
      // In one step, so that its door is closed like those of the others: a look may take long to end.
      const looked = ticker?.stop({ signal, deadline: Infinity })
      const isClean = await own.drain(signal)
      await looked
      views.endStreams('draining')
      return { isClean }
    },
    async stop() {
      await ticker?.stop()
      await views.stop()
    },
    stats: () => ({ runs: own.size, ...views.stats() }),
    metrics: () => [
      {
        name: 'heddle_runs_active',
        help: 'Runs of this server that have not ended.',
        type: 'gauge',
        samples: [{ value: own.size }],
      },
      {
        name: 'heddle_run_streams',
        help: 'Open streams of events.',
        type: 'gauge',
        samples: [{ value: views.stats().streams }],
      },
    ],
  }
}

/** The run that a path names is one of the caller's tenant, or unknown. */
function ofRun(journal: Journal) {
  return {
    tenancy: ({
      params,
      caller,
    }: {
      readonly params: { readonly id: string }
      readonly caller: Caller
    }) => checkRun(journal, params.id, caller),
  }
}

function steeringRoutes(journal: Journal, own: OwnRuns, audit: Audit): Route[] {
  const inTenant = ofRun(journal)
  const steered = async (
    call: Pick<Call, 'caller' | 'request'>,
    action: string,
    run: string,
    steering: Promise<SteerAnswer>,
  ): Promise<SteerAnswer> => {
    const answer = await steering
    if (answer.changed) await audit(call, action, run)
    return answer
  }
  return [
    route(
      contracts.pauseRun,
      (call) => steered(call, 'run paused', call.params.id, own.pause(call.params.id)),
      inTenant,
    ),
    route(
      contracts.resumeRun,
      (call) => steered(call, 'run resumed', call.params.id, own.resume(call.params.id)),
      inTenant,
    ),
    route(
      contracts.cancelRun,
      (call) => {
        const { reason, abort = false } = call.body
        const { id } = call.params
        const steering = own.cancel(id, { by: call.caller.name, reason, abort })
        return steered(call, 'run cancelled', id, steering)
      },
      inTenant,
    ),
    route(
      contracts.sendSignal,
      async (call) => {
        const { id, name } = call.params
        await own.signal(id, name, call.body.value, call.caller.name)
        await audit(call, 'signal sent', id, name)
        return { run: id, signal: name }
      },
      inTenant,
    ),
  ]
}

function approvalRoutes(journal: Journal, links: ApprovalLinks, audit: Audit): Route[] {
  const day = 86_400_000
  const shown = async (reply: FastifyReply, make: () => Promise<string>): Promise<FastifyReply> => {
    void reply.headers(approvalHeaders)
    try {
      return await reply.send(await make())
    } catch (error) {
      if (!isError(error, 'HDL_BAD_LINK') && !isError(error, 'HDL_RUN_ENDED')) throw error
      return reply.code(410).send(refusedPage(error.message))
    }
  }
  return [
    route(
      contracts.makeApprovalLink,
      async (call) => {
        const { params, body, caller, reply } = call
        const { id: run, name: signal } = params
        const { text = '', choices = ['approved', 'rejected'] } = body
        const { expires_in_ms: expiresIn = day } = body
        const outcome = outcomeOf(await journal.overview(run))
        if (hasEnded(outcome)) {
          throw new HeddleError('HDL_RUN_ENDED', { action: `A link to run ${run}` })
        }
        const request = { run, signal, text, choices, expiresIn, by: caller.name }
        const { secret, expiresAt } = await links.make(request)
        await audit(call, 'approval link made', run, signal)
        void reply.code(201).header('cache-control', 'no-store')
        return { link: `/approvals/${secret}`, expires_at: expiresAt }
      },
      ofRun(journal),
    ),
    route(
      contracts.showApproval,
      ({ params, reply }) =>
        shown(reply, async () => approvalPage(await links.look(params.secret))),
      { tenancy: 'everyone' },
    ),
    route(
      contracts.answerApproval,
      (call) =>
        shown(call.reply, async () => {
          const { value } = call.body
          const answered = await links.answer(call.params.secret, value)
          await audit(call, 'signal sent by link', answered.run, answered.signal)
          return answeredPage(answered, value)
        }),
      { tenancy: 'everyone' },
    ),
  ]
}

export interface RunViewsOptions extends Pick<
  RunsRoomOptions,
  'journal' | 'kernel' | 'loop' | 'sendLimit' | 'audit'
> {
  /** Runs of this process, which it steers. */
  readonly own: OwnRuns | undefined
}

/** Shows runs: for `heddle ui`. With runs of its own process it steers these: for `heddle run --ui`. */
export function openRunViewsRoom(options: RunViewsOptions): Room {
  const { journal, own, audit } = options
  const views = new RunRoutes(options)
  return {
    name: 'runs',
    routes: [...views.routes, ...(own === undefined ? [] : steeringRoutes(journal, own, audit))],
    start: () => Promise.resolve(),
    drain: async () => {
      views.endStreams('draining')
      return { isClean: true }
    },
    stop: () => views.stop(),
    stats: () => views.stats(),
    metrics: () => [],
  }
}

/** The routes that read. */
class RunRoutes {
  readonly routes: readonly Route[]
  readonly #options: ViewOptions
  readonly #reader: RunsReader
  readonly #streams = new Set<EventStream>()
  readonly #streamRate: SeatRate
  /** Keyed by tenant, undefined for all: pages of one tenant share their queries. */
  readonly #lists = new Map<string | undefined, ListStream>()
  readonly #tallies = new Map<string | undefined, Tally>()

  constructor(options: ViewOptions) {
    this.#options = options
    const { journal, kernel } = options
    this.#streamRate = new SeatRate({ kernel })
    this.#reader = openRunsReader(journal, kernel)
    this.routes = this.#makeRoutes()
  }

  stats(): { readonly streams: number } {
    return { streams: this.#streams.size }
  }

  endStreams(reason: 'draining'): void {
    for (const stream of this.#streams) stream.end({ event: 'end', data: { reason } })
  }

  async stop(): Promise<void> {
    this.endStreams('draining')
    await this.#reader[Symbol.asyncDispose]()
  }

  #makeRoutes(): Route[] {
    const { journal, own } = this.#options
    const inTenant = ofRun(journal)
    return [
      route(contracts.listRuns, async ({ query, caller }) => {
        const { state, q, cursor, limit = 50 } = query
        const outcomes = outcomesOf(state)
        const page = await journal.list({
          limit,
          ...ownRuns(caller),
          ...(outcomes !== undefined && { outcomes }),
          ...(q !== undefined && { text: q }),
          ...(cursor !== undefined && { before: readCursor(cursor) }),
        })
        return {
          runs: page.runs.map((run) => summaryView(run, run.labels, own?.has(run.id) === true)),
          next: page.next === undefined ? null : String(page.next),
        }
      }),
      route(contracts.countRuns, async ({ caller }) => {
        const counts = await this.#counts(caller)
        return { counts, total: Object.values(counts).reduce((sum, count) => sum + count, 0) }
      }),
      route(contracts.followRuns, (call) =>
        this.#stream(call.reply, (stream) => this.#listOf(call.caller).serve(stream)),
      ),
      route(
        contracts.showRun,
        (call) =>
          this.#send(call, {
            type: 'head',
            run: call.params.id,
            point: pointOf(call.query),
            isSteerable: own?.has(call.params.id) === true,
          }),
        inTenant,
      ),
      route(
        contracts.listNodes,
        (call) => {
          const { from = 0, limit = 10_000 } = call.query
          const point = pointOf(call.query)
          return this.#send(call, { type: 'nodes', run: call.params.id, point, from, limit })
        },
        inTenant,
      ),
      route(
        contracts.showNode,
        (call) =>
          this.#send(call, {
            type: 'node',
            run: call.params.id,
            node: call.params.name,
            point: pointOf(call.query),
            valueLimit: call.query.value_limit ?? 16_384,
          }),
        inTenant,
      ),
      route(
        contracts.showResult,
        (call) => this.#send(call, { type: 'result', run: call.params.id, node: call.params.name }),
        inTenant,
      ),
      route(
        contracts.readLog,
        (call) => {
          const { node, q, after = 0, limit = 1_000 } = call.query
          return this.#send(call, { type: 'log', run: call.params.id, node, text: q, after, limit })
        },
        inTenant,
      ),
      route(
        contracts.showTimeline,
        (call) => {
          const { from = 0, limit = 20_000 } = call.query
          const point = pointOf(call.query)
          const run = call.params.id
          const gaps = this.#gapsOf(run)
          return this.#send(call, { type: 'timeline', run, point, from, limit, gaps })
        },
        inTenant,
      ),
      route(
        contracts.showGraph,
        (call) => {
          const { from = 0, limit = 20_000 } = call.query
          return this.#send(call, { type: 'graph', run: call.params.id, from, limit })
        },
        inTenant,
      ),
      route(
        contracts.followRun,
        async ({ params, query, reply, request }) => {
          const after = query.after ?? lastEventId(request.headers['last-event-id'])
          const overview = await journal.overview(params.id)
          const isOver = overview.state === 'finished' || overview.state === 'cancelled'
          // Nothing will come any more: the client does not ask again.
          if (isOver && after !== undefined && after >= overview.rows[1])
            return reply.code(204).send()
          const now = (): number => this.#options.kernel.clock.wallTime()
          return this.#stream(reply, (stream) =>
            streamRun(stream, { journal, run: params.id, after, log: query.log, now }),
          )
        },
        inTenant,
      ),
      route(
        contracts.compareWith,
        (call) => this.#send(call, { type: 'compare', run: call.params.id, with: call.query.with }),
        {
          tenancy: ({ params, query, caller }) =>
            checkRun(journal, params.id, caller)?.then(() => checkRun(journal, query.with, caller)),
        },
      ),
      route(
        contracts.forecastRun,
        (call) => {
          const { concurrency } = call.query
          return this.#send(call, { type: 'forecast', run: call.params.id, concurrency })
        },
        inTenant,
      ),
      route(
        contracts.exportRun,
        (call) => {
          const { id: run, format } = call.params
          const { type, extension } = exportTypes[format]
          // A page with the output of jobs is a file, and never a page of this server.
          const name = `${run.replaceAll(/[^\w.-]/g, '_')}.${extension}`
          void call.reply.header('content-disposition', `attachment; filename="${name}"`)
          return this.#send(call, { type: 'export', run, format }, type)
        },
        inTenant,
      ),
    ]
  }

  /** Gaps of this loop belong to runs of this process. */
  #gapsOf(run: string): readonly LoopGapInput[] {
    const { own, loop } = this.#options
    if (own?.hasRun(run) !== true) return []
    return loop.stats().recent.map(({ startedAt, ms, label }) => ({ startedAt, ms, label }))
  }

  /** Answers are JSON already: what passes through the loop is bytes. */
  async #send(
    call: Pick<Call, 'reply' | 'signal' | 'deadline'>,
    question: ViewQuestion,
    type = 'application/json',
  ): Promise<FastifyReply> {
    const { reply, signal, deadline } = call
    const body = await this.#answer(question, { signal, deadline })
    void reply.type(`${type}; charset=utf-8`).header('cache-control', 'no-cache, private')
    return reply.send(
      typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    )
  }

  async #answer(question: ViewQuestion, limits: WaitOptions): Promise<Uint8Array | string> {
    try {
      return await this.#reader.answer(question, limits)
    } catch (error) {
      // A point before the run began is a mistake of the caller.
      if (!isError(error, 'HDL_BAD_OPTION')) throw error
      const problem = `expected ${error.details.expected}.`
      throw new HeddleError('HDL_BAD_INPUT', { what: error.details.option, problem })
    }
  }

  async #stream(
    reply: FastifyReply,
    serve: (stream: EventStream) => Promise<void>,
  ): Promise<FastifyReply> {
    const { kernel, sendLimit } = this.#options
    if (this.#streams.size >= mostStreams) {
      const retryAfter = this.#streamRate.retryAfter()
      throw new HeddleError('HDL_OVERLOADED', { what: 'The list of streams', retryAfter })
    }
    const stream = new EventStream(reply, kernel.clock, sendLimit)
    this.#streams.add(stream)
    this.#streamRate.taken()
    try {
      await serve(stream)
    } catch {
      // The head is sent: all that is left is to end the stream. The client continues where it was.
    } finally {
      // heddle-ignore H202 -- the stream is its own key in the set, so no other call can have taken its place
      this.#streams.delete(stream)
      this.#streamRate.freed()
      stream.end()
    }
    return reply
  }

  #listOf(caller: Caller): ListStream {
    const tenant = tenantsOf(caller)
    let list = this.#lists.get(tenant)
    if (list === undefined) {
      const { clock } = this.#options.kernel
      list = new ListStream({ clock, look: () => this.#look(caller) })
      this.#lists.set(tenant, list)
      if (this.#lists.size > mostTenants) this.#lists.delete(this.#lists.keys().next().value)
    }
    return list
  }

  async #look(caller: Caller): Promise<{
    readonly runs: contracts.RunSummary[]
    readonly counts: contracts.RunCounts['counts']
  }> {
    const { journal, own } = this.#options
    const newest = await journal.list({ ...ownRuns(caller), limit: 50 })
    const active = await journal.list({
      ...ownRuns(caller),
      limit: 200,
      outcomes: activeOutcomes,
    })
    const byId = new Map([...active.runs, ...newest.runs].map((run) => [run.id, run]))
    return {
      runs: Array.from(byId.values(), (run) =>
        summaryView(run, run.labels, own?.has(run.id) === true),
      ),
      counts: await this.#counts(caller),
    }
  }

  #counts(caller: Caller): Tally['counts'] {
    const { journal, kernel } = this.#options
    const tenant = tenantsOf(caller)
    const { labels } = ownRuns(caller)
    const now = kernel.clock.now()
    const known = this.#tallies.get(tenant)
    if (known !== undefined && now - known.at < (labels === undefined ? tallyEvery : slowTally)) {
      return known.counts
    }
    const counts = labels === undefined ? journal.tally() : tallyOf(journal, labels)
    const tally = { at: now, counts }
    this.#tallies.delete(tenant)
    this.#tallies.set(tenant, tally)
    if (this.#tallies.size > mostTenants) this.#tallies.delete(this.#tallies.keys().next().value)
    counts.catch(() => {
      if (this.#tallies.get(tenant) === tally) this.#tallies.delete(tenant)
    })
    return counts
  }
}

const exportTypes: Readonly<
  Record<
    (typeof contracts.exportFormats)[number],
    { readonly type: string; readonly extension: string }
  >
> = {
  trace: { type: 'application/json', extension: 'json' },
  mermaid: { type: 'text/plain', extension: 'mmd' },
  rows: { type: 'text/plain', extension: 'jsonl' },
  graph: { type: 'application/json', extension: 'json' },
  html: { type: 'text/html', extension: 'html' },
  test: { type: 'text/plain', extension: 'test.ts' },
}

function outcomesOf(
  state: (typeof contracts.runFilters)[number] | undefined,
): readonly RunOutcome[] | undefined {
  if (state === undefined) return undefined
  if (state === 'active') return activeOutcomes
  return state === 'finished' ? endedOutcomes : [state]
}

/** Milliseconds since 1970, or RFC 3339 with a zone. @throws `HDL_BAD_INPUT`. */
function readInstant(at: number | string): number {
  if (typeof at === 'number') return at
  const isComplete = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i.test(at)
  const instant = isComplete ? Date.parse(at) : NaN
  if (Number.isFinite(instant)) return instant
  const problem = 'expected milliseconds since 1970, or a time such as 2026-12-24T18:00:00+01:00.'
  throw new HeddleError('HDL_BAD_INPUT', { what: 'start_at', problem })
}

/** @throws `HDL_BAD_INPUT`. */
function readCursor(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw new HeddleError('HDL_BAD_INPUT', { what: 'cursor', problem: 'expected `next` of a page.' })
}

function lastEventId(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

function pointOf({ position, at }: PointInput): PointInput {
  return { ...(position !== undefined && { position }), ...(at !== undefined && { at }) }
}
