/**
 * Many callers that wait for one large result, beside long inputs, a dashboard and health checks.
 *
 *  G1  No gap of the server's loop exceeds 50 ms. Time in which the machine had no processor for the loop does not count.
 *  G2  Every caller gets the whole result, and every request beside them its answer.
 *
 * A thousand readers of 30 MB fill the memory that the system has for TCP (`/proc/sys/net/ipv4/tcp_mem`). It then drops packets, and a reader
 * may get nothing for a minute. So the server's limit for clients that take nothing is longer here; what is cut all the same is counted.
 *
 * Each job of large-jobs.ts is played once: one makes its result on the loop, the other in a thread.
 */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import type { LoopView } from '../../packages/server/src/client/contract/machine.ts'
import { serve, type Served } from './serve.ts'

export interface LargeResultsOptions {
  readonly checkout: string
  readonly waiters: number
  /** Size of the result's JSON. */
  readonly bytes: number
  /** Milliseconds that the job takes: callers must be there before it ends. */
  readonly after: number
  readonly onProgress?: (job: string, report: JobReport) => void
}

interface JobReport {
  /** Callers that waited when the result was not there yet. */
  readonly waited: number
  /** Callers that have received all bytes. */
  readonly whole: number
  /** Answers that were cut off, by the code of the error. */
  readonly cut: Readonly<Record<string, number>>
  /** Answers to requests beside them, by status. */
  readonly beside: Readonly<Record<string, number>>
  /** Milliseconds until the last caller had everything, from the first request on. */
  readonly ms: number
  readonly longestGapMs: number
  /** The last gaps of at least `limits.loopGap` ms: their length, and the cause. */
  readonly gaps: readonly string[]
  /** Gaps in which the machine had no processor for the loop: they are in no other figure. */
  readonly starved: number
  readonly memoryMiB: { readonly before: number; readonly most: number }
}

export interface LargeResultsReport {
  readonly waiters: number
  readonly bytes: number
  readonly jobs: Readonly<Record<string, JobReport>>
}

const jobs = ['large-on-loop', 'large-in-thread'] as const
const longInput = JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ n, text: 'input' })))
const patience = 600_000
/** Gaps are watched from below half of the limit on, so that all that count are seen. */
const limits = { loopGap: 20, sending: patience }

export async function largeResults(options: LargeResultsOptions): Promise<LargeResultsReport> {
  const { waiters, bytes } = options
  const reports: Record<string, JobReport> = {}
  for (const job of jobs) {
    reports[job] = await playJob(job, options)
    options.onProgress?.(job, reports[job])
  }
  return { waiters, bytes, jobs: reports }
}

async function playJob(job: string, options: LargeResultsOptions): Promise<JobReport> {
  const { waiters, bytes, after } = options
  await using server = await serve(options.checkout, limits)
  const { memory: before } = await server.look()
  const begin = performance.now()
  const submitted = await ask(server, `/jobs/${job}`, JSON.stringify({ bytes, after }))
  const { handle } = (await json(submitted)) as { handle: string }
  let whole = 0
  const cut: Record<string, number> = {}
  const read = async (): Promise<void> => {
    try {
      const answer = await ask(server, `/results/${handle}/0?wait=${patience}`)
      const length = await lengthOf(answer)
      if (length >= bytes && length === Number(answer.headers['content-length'])) whole++
    } catch (error) {
      const { code = 'unknown' } = error as { code?: string }
      cut[code] = (cut[code] ?? 0) + 1
    }
  }
  const state = { isOver: false, waited: 0, most: before }
  const looking = (async () => {
    while (!state.isOver) {
      const { stats, memory } = await server.look()
      state.waited = Math.max(state.waited, (stats['registry'] as { active: number }).active)
      state.most = Math.max(state.most, memory)
      await setTimeout(100)
    }
  })()
  const besides = askBeside(server, state)
  await Promise.all(Array.from({ length: waiters }, read))
  const ms = performance.now() - begin
  state.isOver = true
  await looking
  const beside = await besides
  const loop = (await json(await ask(server, '/loop'))) as LoopView
  return {
    waited: state.waited,
    whole,
    cut,
    beside,
    ms: Math.round(ms),
    longestGapMs: Math.round(loop.longest_ms * 10) / 10,
    gaps: loop.recent.toReversed().map(describeGap),
    starved: loop.starved.gaps,
    memoryMiB: { before: inMiB(before), most: inMiB(state.most) },
  }
}

function describeGap({
  ms,
  starved_ms: starved,
  label,
  stack,
}: LoopView['recent'][number]): string {
  const without = starved < 1 ? '' : ` (and ${Math.round(starved)} without a processor)`
  return `${Math.round(ms)} ms${without}: ${label ?? 'no label'}, ${stack.slice(0, 3).join(' < ')}`
}

/** Long inputs, and the requests of a dashboard and a monitor. */
async function askBeside(
  server: Served,
  state: { readonly isOver: boolean },
): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {}
  const asks: readonly (readonly [path: string, body?: string])[] = [
    ['/healthz'],
    ['/metrics'],
    ['/computations'],
    ['/runs'],
    ['/openapi.json'],
    ['/jobs/echo?wait=60000&force=true', longInput],
  ]
  for (let n = 0; !state.isOver; n++) {
    const [path, body] = asks[n % asks.length]!
    const answer = await ask(server, path, body)
    await lengthOf(answer)
    statuses[answer.statusCode!] = (statuses[answer.statusCode!] ?? 0) + 1
    await setTimeout(20)
  }
  return statuses
}

/** Uses a connection of its own, which ends with the answer. */
async function ask({ host, port }: Served, path: string, body?: string): Promise<IncomingMessage> {
  const method = body === undefined ? 'GET' : 'POST'
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const sent = request({ host, port, path, method, headers, agent: false })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

async function lengthOf(answer: IncomingMessage): Promise<number> {
  let length = 0
  answer.on('data', (chunk: Buffer) => (length += chunk.length))
  await once(answer, 'end')
  return length
}

function inMiB(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
