/**
 * Very many malformed requests at a server in a process of its own, two of five with bytes that are wrong anywhere
 * (server/test/support/malformed.ts), the others made from the route table (shaped.ts): no 5xx but an honest 503, no crash, no
 * connection kept, flat memory, and ordinary requests beside them are answered.
 */
import { once } from 'node:events'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import {
  malformed,
  problemOf,
  sendMalformed,
  type Answered,
} from '../../packages/server/test/support/malformed.ts'
import { serve, type Kept, type Served } from './serve.ts'
import { shaped } from './shaped.ts'

export interface MalformedOptions {
  readonly checkout: string
  readonly requests: number
  readonly seed: number
  /** Requests at a time. */
  readonly streams: number
  readonly onProgress?: (sent: number) => void
}

export interface MalformedReport {
  readonly seed: number
  readonly sent: number
  /** Requests that a route of the table has taken: they came as far as its validation. */
  readonly reached: number
  /** Ordinary requests that were sent beside the others, and how many of them were answered as they should be. */
  readonly ordinary: { readonly sent: number; readonly answered: number }
  /** How many answers had a status; those without an answer are not among them. */
  readonly statuses: Readonly<Record<string, number>>
  /** The first of them, each with the number that makes it again. */
  readonly problems: readonly string[]
  readonly problemCount: number
  /** Measured on the server after the last request: connections and bodies must be 0. */
  readonly left: { readonly connections: number; readonly bodies: number; readonly works: number }
  /** Memory of the process. `warm` is after a tenth of the requests. */
  readonly memoryMiB: { readonly before: number; readonly warm: number; readonly after: number }
  /** After a collection, at the start and after each tenth of the requests: memory that is still held. */
  readonly keptMiB: Readonly<Record<keyof Kept, readonly number[]>>
}

/**
 * Milliseconds for a body. Node does not see that a client has left while the body of a request with `Upgrade` is on its
 * way: only this limit ends it.
 */
const arrival = 3_000
/** Milliseconds after which a connection that the server has not closed is a problem. */
const patience = 30_000
/** Milliseconds of a gap that is reported: forced collections make shorter ones. */
const collectorGap = 500
/** Ordinary requests compute: the cache is bounded so tightly that they soon reach the bound. */
const bounds = { cacheBytes: 2 ** 20, resultBytes: 2 ** 20 }
const mostTold = 20
/** Milliseconds between two pieces of a slow request. */
const slowPause = 5
/** Milliseconds between two ordinary requests. */
const ordinaryPause = 50
/** Requests between two reports of progress. */
const pace = 10_000

export async function malformedRequests(options: MalformedOptions): Promise<MalformedReport> {
  const { requests, seed, streams } = options
  await using server = await serve(options.checkout, { arrival, loopGap: collectorGap, ...bounds })
  const before = await server.look()
  const statuses: Record<string, number> = {}
  const problems: string[] = []
  let problemCount = 0
  let sent = 0
  let isDead = false
  void server.ended.then(() => (isDead = true))
  const note = (number: number, problem: string): void => {
    problemCount++
    if (problems.length < mostTold) problems.push(`seed ${seed}, number ${number}: ${problem}`)
  }
  let warm = before.memory
  const tenth = Math.ceil(requests / 10)
  const kept = [server.collect()]
  const ordinary = { sent: 0, answered: 0 }
  const beside = async (): Promise<void> => {
    while (sent < requests && !isDead) {
      const problem = await askOrdinary(server, ordinary.sent++)
      if (problem === undefined) ordinary.answered++
      else if (!isDead) note(-1, `an ordinary request: ${problem}`)
      await setTimeout(ordinaryPause)
    }
  }
  const play = async (): Promise<void> => {
    while (sent < requests && !isDead) {
      if (sent === tenth) void server.look().then(({ memory }) => (warm = memory))
      const number = sent++
      if (sent % tenth === 0) kept.push(server.collect())
      if (sent % pace === 0) options.onProgress?.(sent)
      const answered = await send(server, seed, number)
      if (typeof answered === 'string') note(number, answered)
      else {
        for (const status of answered.statuses) statuses[status] = (statuses[status] ?? 0) + 1
        const problem = problemOf(answered)
        if (problem !== undefined) note(number, problem)
      }
    }
  }
  await Promise.all([beside(), ...Array.from({ length: streams }, play)])
  if (isDead) {
    note(sent, `the server has ended: ${await server.ended}`)
    const left = { connections: -1, bodies: -1, works: -1 }
    const memoryMiB = { before: inMiB(before.memory), warm: inMiB(warm), after: 0 }
    const reached = 0
    const keptMiB = { heap: [], code: [], buffers: [] }
    return {
      seed,
      sent,
      reached,
      ordinary,
      statuses,
      problems,
      problemCount,
      left,
      memoryMiB,
      keptMiB,
    }
  }
  const reached = (await reachedRoutes(server)) - ordinary.sent
  const { stats, memory } = await settled(server)
  return {
    seed,
    sent,
    reached,
    ordinary,
    statuses,
    problems,
    problemCount,
    left: countsOf(stats),
    memoryMiB: { before: inMiB(before.memory), warm: inMiB(warm), after: inMiB(memory) },
    keptMiB: {
      heap: (await Promise.all(kept)).map(({ heap }) => inTenths(heap)),
      code: (await Promise.all(kept)).map(({ code }) => inTenths(code)),
      buffers: (await Promise.all(kept)).map(({ buffers }) => inTenths(buffers)),
    },
  }
}

/** A returned string names the fault. */
async function send(server: Served, seed: number, number: number): Promise<Answered | string> {
  try {
    const wrong = number % 5 < 2 ? malformed(seed, number) : shaped(seed, number)
    return await sendMalformed(server, wrong, AbortSignal.timeout(patience), later)
  } catch (error) {
    return (error as Error).message
  }
}

/** Waits between two pieces of a slow request. */
async function pause(next: () => void): Promise<void> {
  await setTimeout(slowPause)
  next()
}

const later = (next: () => void): void => void pause(next)

interface Asked {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Uses a connection of its own, which ends with the answer. */
async function ask({ host, port }: Served, path: string, body?: string): Promise<Asked> {
  const signal = AbortSignal.timeout(patience)
  const method = body === undefined ? 'GET' : 'POST'
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const sent = request({ host, port, path, method, headers, signal, agent: false })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: await readText(response),
  }
}

/** A health check, or work that waits for its result. Undefined when it was answered as it should be. */
async function askOrdinary(server: Served, number: number): Promise<string | undefined> {
  try {
    if (number % 2 === 0) {
      const { status } = await ask(server, '/healthz')
      return status === 200 ? undefined : `status ${status}`
    }
    const input = JSON.stringify({ ordinary: number })
    const { status, headers, text } = await ask(
      server,
      `/jobs/echo?wait=${patience}&priority=0`,
      input,
    )
    const isRight = status === 200 && text.includes(`"result":${input}`)
    // Overload is answered, too.
    const isRefused = status === 503 && headers['retry-after'] !== undefined
    return isRight || isRefused ? undefined : `status ${status}`
  } catch (error) {
    return (error as Error).message
  }
}

/** Counts, by the server's own metrics, the requests that reached a route of the table. */
async function reachedRoutes(server: Served): Promise<number> {
  const { text } = await ask(server, '/metrics')
  const counts = text.matchAll(/^heddle_http_requests_total\{route="([^"]*)".*\} (\d+)$/gm)
  let sum = 0
  for (const [, route, count] of counts) if (route !== 'none') sum += Number(count)
  return sum
}

type Look = Awaited<ReturnType<Served['look']>>

/** The server's report after the last answers: connections end a moment later. */
async function settled(server: Served): Promise<Look> {
  for (let looks = 0; ; looks++) {
    const look = await server.look()
    const { connections, bodies, works } = countsOf(look.stats)
    if (looks === 100 || connections + bodies + works === 0) return look
    // Longer than the limit of a body in all.
    await setTimeout(100)
  }
}

function countsOf(stats: Look['stats']): MalformedReport['left'] {
  const { connections, arrivals, works } = stats as {
    connections?: { open: number }
    arrivals?: { arriving: number }
    works: number
  }
  return { connections: connections?.open ?? 0, bodies: arrivals?.arriving ?? 0, works }
}

function inTenths(bytes: number): number {
  return Math.round((bytes / 2 ** 20) * 10) / 10
}

function inMiB(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
