/** Very many malformed requests at a server in a process of its own: no 5xx but an honest 503, no crash, no connection kept. */
import { setTimeout } from 'node:timers/promises'
import {
  malformed,
  problemOf,
  sendMalformed,
  type Answered,
} from '../../packages/server/test/support/malformed.ts'
import { serve, type Served } from './serve.ts'

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
  /** How many answers had a status; those without an answer are not among them. */
  readonly statuses: Readonly<Record<string, number>>
  /** The first of them, each with the number that makes it again. */
  readonly problems: readonly string[]
  readonly problemCount: number
  /** Of the server after the last request: connections and bodies must be 0. */
  readonly left: { readonly connections: number; readonly bodies: number; readonly works: number }
  readonly memoryMiB: { readonly before: number; readonly after: number }
}

/**
 * Milliseconds for a body. Node does not see that a client has left while the body of a request with `Upgrade` is on its
 * way: only this limit ends it.
 */
const arrival = 3_000
/** Milliseconds after which a connection that the server has not closed is a problem. */
const patience = 30_000
const mostTold = 20
/** Requests between two reports of progress. */
const pace = 10_000

export async function malformedRequests(options: MalformedOptions): Promise<MalformedReport> {
  const { requests, seed, streams } = options
  await using server = await serve(options.checkout, { arrival })
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
  const play = async (): Promise<void> => {
    while (sent < requests && !isDead) {
      const number = sent++
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
  await Promise.all(Array.from({ length: streams }, play))
  if (isDead) {
    note(sent, `the server has ended: ${await server.ended}`)
    const left = { connections: -1, bodies: -1, works: -1 }
    const memoryMiB = { before: inMiB(before.memory), after: 0 }
    return { seed, sent, statuses, problems, problemCount, left, memoryMiB }
  }
  const { stats, memory } = await settled(server)
  return {
    seed,
    sent,
    statuses,
    problems,
    problemCount,
    left: countsOf(stats),
    memoryMiB: { before: inMiB(before.memory), after: inMiB(memory) },
  }
}

/** A string says what is wrong. */
async function send(server: Served, seed: number, number: number): Promise<Answered | string> {
  try {
    return await sendMalformed(server, malformed(seed, number), AbortSignal.timeout(patience))
  } catch (error) {
    return (error as Error).message
  }
}

type Look = Awaited<ReturnType<Served['look']>>

/** What is told after the last answers: connections end a moment later. */
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

function inMiB(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
