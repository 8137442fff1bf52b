/** T1 to T3, with the SDK of OpenTelemetry and spans in memory. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { SpanKind, SpanStatusCode, context, propagation, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node'
import { job } from '@heddle/core'
import { serveJob, startServer, type Server } from '../../src/index.ts'
import { call } from '../support/client.ts'
import { Gate } from '../support/gates.ts'
import { compute, quiet, submit, waiting } from '../support/http.ts'
import { until } from '../../../core/test/kernel/until.ts'
import { traced, tracedItem } from './fixtures/traced-jobs.ts'

const exporter = new InMemorySpanExporter()
const begun = { count: 0 }

function register(): void {
  const counter = {
    onStart: () => void begun.count++,
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  }
  const spanProcessors = [counter, new SimpleSpanProcessor(exporter)]
  new NodeTracerProvider({ spanProcessors }).register()
}

function unregister(): void {
  trace.disable()
  context.disable()
  propagation.disable()
}

beforeEach(() => {
  exporter.reset()
  begun.count = 0
})
after(unregister)

/** T2: resolves when every span that has begun has ended. */
async function spansOf(server: Server): Promise<readonly ReadableSpan[]> {
  await quiet(server)
  await until(() => exporter.getFinishedSpans().length === begun.count)
  const spans = exporter.getFinishedSpans()
  const ids = spans.map((span) => span.spanContext().spanId)
  assert.equal(new Set(ids).size, ids.length, 'each ends once')
  return spans
}

/** `POST /jobs/:name > job a > prepare > run` for each span. */
function pathsOf(spans: readonly ReadableSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]))
  const pathOf = (span: ReadableSpan): string => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? '')
    return parent === undefined ? span.name : `${pathOf(parent)} > ${span.name}`
  }
  return spans.map(pathOf).toSorted()
}

const find = (spans: readonly ReadableSpan[], name: string): ReadableSpan =>
  spans.find((span) => span.name === name)!

test('T1 without an SDK nothing is traced, and a job in a thread has no traceparent', async () => {
  await using server = await startServer({ jobs: [traced], port: 0, threads: 1 })
  const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
  const { body } = await compute(server, 'traced', 1, { headers }).reply
  assert.equal(body['result'], 'none')
  assert.equal(begun.count, 0)
})

test('from the client over the request and the computation into the thread and back', async () => {
  register()
  await using server = await startServer({ jobs: [traced], port: 0, threads: 1 })
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
  const { body } = await compute(server, 'traced', 'private input', { headers }).reply
  const spans = await spansOf(server)
  const request = 'POST /jobs/:name'
  assert.deepEqual(pathsOf(spans), [
    request,
    `${request} > job traced`,
    `${request} > job traced > prepare`,
    `${request} > job traced > prepare > queue`,
    `${request} > job traced > prepare > run`,
  ])
  assert.ok(spans.every((span) => span.spanContext().traceId === traceId))
  const root = find(spans, request)
  assert.deepEqual(
    [root.kind, root.parentSpanContext?.spanId, root.attributes['http.response.status_code']],
    [SpanKind.SERVER, 'b7ad6b7169203331', 200],
  )
  const run = find(spans, 'run')
  assert.equal(run.attributes['heddle.place'], 'thread')
  // The traceparent in the thread's job names the span of its attempt.
  assert.equal(body['result'], `00-${traceId}-${run.spanContext().spanId}-01`)
  // T3
  assert.doesNotMatch(JSON.stringify(spans.map(({ attributes }) => attributes)), /private/)
})

test('each result of a second stage has a stage of its own', async () => {
  register()
  const plot = serveJob({ name: 'plot', prepare: traced, item: tracedItem, total: 2 })
  await using server = await startServer({ jobs: [plot], port: 0, threads: 1 })
  await submit(server, 'plot', 1).reply
  const spans = await spansOf(server)
  const items = spans.filter(({ name }) => name === 'item')
  assert.deepEqual(
    new Set(items.map(({ attributes }) => attributes['heddle.index'])),
    new Set([-1, 0]),
  )
  assert.equal(items.length, 2)
  const [trace1, ...others] = new Set(spans.map((span) => span.spanContext().traceId))
  assert.deepEqual(others, [])
  assert.ok(trace1)
})

test('a request that joins a computation has a link to it', async () => {
  register()
  const gate = new Gate('work')
  await using server = await startServer({ jobs: [gate.job], port: 0 })
  const first = compute(server, 'work', 1)
  await gate.started()
  const second = compute(server, 'work', 1)
  await waiting(server, 2)
  gate.finishAll()
  await Promise.all([first.reply, second.reply])
  const spans = await spansOf(server)
  const works = spans.filter(({ name }) => name === 'job work')
  assert.equal(works.length, 1)
  const joined = spans.filter(({ attributes }) => attributes['heddle.joined'] === true)
  assert.deepEqual(
    joined.map(({ name, links }) => [name, links.map((link) => link.context.spanId)]),
    [['POST /jobs/:name', [works[0]!.spanContext().spanId]]],
  )
})

test('T2 T3 attempts that fail are spans with an error and without its text; a loop job has its span', async () => {
  register()
  const active: (string | undefined)[] = []
  const fails = job({ name: 'fails', retries: 1, retryBaseDelay: 1 }, (_input, ctx) => {
    active.push(trace.getActiveSpan()?.spanContext().spanId)
    assert.match(ctx.traceparent!, new RegExp(active.at(-1)!))
    throw new Error('private text')
  })
  await using server = await startServer({ jobs: [fails], port: 0 })
  assert.equal((await compute(server, 'fails', 1).reply).status, 500)
  const spans = await spansOf(server)
  const runs = spans.filter(({ name }) => name === 'run')
  assert.deepEqual(
    runs.map((span) => [span.attributes['heddle.attempt'], span.status.code]),
    [
      [0, SpanStatusCode.ERROR],
      [1, SpanStatusCode.ERROR],
    ],
  )
  assert.deepEqual(
    active,
    runs.map((span) => span.spanContext().spanId),
  )
  assert.equal(find(spans, 'job fails').attributes['heddle.outcome'], 'failed')
  const written = JSON.stringify(
    spans.map(({ attributes, status, events }) => ({ attributes, status, events })),
  )
  assert.doesNotMatch(written, /private/)
})

test('T2 a client that leaves, a refusal and a request without a route end their spans too', async () => {
  register()
  const gate = new Gate('work')
  const limits = { prepareCapacity: 1 }
  await using server = await startServer({ jobs: [gate.job], port: 0, limits })
  const { request } = compute(server, 'work', 1)
  const { context: ctx, fail } = await gate.started()
  ctx.signal.addEventListener('abort', () => fail(ctx.signal.reason))
  assert.equal((await submit(server, 'work', 2).reply).status, 503)
  assert.equal((await call(server, '/nowhere')).status, 404)
  request.destroy()
  await until(() => exporter.getFinishedSpans().some(({ name }) => name === 'job work'))
  const spans = await spansOf(server)
  const statuses = spans.map(({ attributes }) => attributes['http.response.status_code'])
  assert.deepEqual(new Set(statuses), new Set([undefined, 404, 499, 503]))
  assert.equal(find(spans, 'job work').attributes['heddle.outcome'], 'cancelled')
})

test('lines of the log have the ids of the trace', async () => {
  register()
  const lines: Record<string, unknown>[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line) as never) }
  const fails = job({ name: 'fails' }, () => {
    throw new Error('no')
  })
  await using server = await startServer({ jobs: [fails], port: 0, log: { to } })
  await compute(server, 'fails', 1).reply
  const spans = await spansOf(server)
  const of = (event: string) => lines.find((line) => line['event'] === event)?.['span_id']
  assert.equal(of('failed'), find(spans, 'POST /jobs/:name').spanContext().spanId)
  assert.equal(of('worker_error'), find(spans, 'job fails').spanContext().spanId)
})
