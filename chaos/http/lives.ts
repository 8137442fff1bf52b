/**
 * A server under load that ends again and again, by kill -9 or by a drain, and starts again on the same store.
 *
 *  L1  What was acknowledged (202, or 200 with a result) is there in a later life, with the right result.
 *  L2  A drain answers every request that has reached it: no connection is reset before its answer. A client whose connection
 *      is refused, or closed before it has sent a byte of a request, was not reset.
 *  L3  A drain ends with exit code 0.
 */
import { Agent, request, type ClientRequest } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { seededRandom } from '@heddle/core/lowlevel'
import { serve, type Served } from './serve.ts'

export interface LivesOptions {
  readonly checkout: string
  readonly lives: number
  readonly end: 'kill' | 'drain'
  /** Every second one keeps its connection, the others open one for each request. */
  readonly clients: number
  readonly seed: number
  readonly onProgress?: (life: number, report: LivesReport) => void
}

export interface LivesReport {
  readonly seed: number
  readonly lives: number
  readonly requests: number
  readonly acknowledged: number
  readonly statuses: Readonly<Record<string, number>>
  /** L1: handles whose result was not there, or another one. */
  readonly lost: readonly string[]
  /** L2: of drains only. */
  readonly resets: number
  /** Connections that were refused, or closed without a request on them: the client asks another server. */
  readonly turnedAway: number
  /** L3, and ends that were not asked for. */
  readonly badEnds: readonly string[]
}

/** Acknowledged results that are checked after each life, besides those of the life itself. */
const sampled = 50
const patience = 60_000

export async function playLives(options: LivesOptions): Promise<LivesReport> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-lives-'))
  try {
    return await new Lives(options, `sqlite:${path.join(folder, 'serve.db')}`).play()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

class Lives {
  readonly #options: LivesOptions
  readonly #store: string
  readonly #random: () => number
  readonly #promised = new Map<string, number>()
  readonly #statuses: Record<string, number> = {}
  readonly #lost: string[] = []
  readonly #badEnds: string[] = []
  #requests = 0
  #resets = 0
  #turnedAway = 0
  #life = 0
  #next = 0

  constructor(options: LivesOptions, store: string) {
    this.#options = options
    this.#store = store
    const random = seededRandom(options.seed)
    this.#random = () => random.next()
  }

  async play(): Promise<LivesReport> {
    const { lives, onProgress } = this.#options
    for (this.#life = 1; this.#life <= lives; this.#life++) {
      const before = this.#promised.size
      await this.#live()
      await this.#verify([...this.#promised.keys()].slice(before), sampled)
      onProgress?.(this.#life, this.#report())
    }
    await this.#verify([...this.#promised.keys()], 0)
    return this.#report()
  }

  #report(): LivesReport {
    return {
      seed: this.#options.seed,
      lives: Math.min(this.#life, this.#options.lives),
      requests: this.#requests,
      acknowledged: this.#promised.size,
      statuses: { ...this.#statuses },
      lost: [...this.#lost],
      resets: this.#resets,
      turnedAway: this.#turnedAway,
      badEnds: [...this.#badEnds],
    }
  }

  async #live(): Promise<void> {
    const { checkout, clients, end } = this.#options
    await using server = await serve(checkout, { drain: patience }, this.#store)
    const endAfter = this.#requests + 30 + Math.floor(this.#random() * 300)
    const state = { isEnding: false }
    const client = async (index: number): Promise<void> => {
      const agent = index % 2 === 0 ? new Agent({ keepAlive: true, maxSockets: 1 }) : undefined
      while (await this.#ask(server, agent, state)) {
        if (this.#requests < endAfter || state.isEnding) continue
        state.isEnding = true
        server.kill(end === 'kill' ? 'SIGKILL' : 'SIGTERM')
      }
      agent?.destroy()
    }
    await Promise.all(Array.from({ length: clients }, (_, index) => client(index)))
    const ended = await server.ended
    const expected = end === 'kill' ? 'SIGKILL' : 'exit code 0'
    if (ended !== expected) this.#badEnds.push(`life ${this.#life}: ${ended}`)
  }

  /** One request. False when this client is done with this life. */
  async #ask(
    server: Served,
    agent: Agent | undefined,
    state: { readonly isEnding: boolean },
  ): Promise<boolean> {
    const n = this.#next++
    const kind = this.#random()
    const handles = kind > 0.8 ? [...this.#promised.keys()].slice(-100) : []
    const asked = handles[Math.floor(this.#random() * handles.length)]
    const [method, address] =
      asked !== undefined
        ? (['GET', `/results/${asked}/0?wait=${patience}`] as const)
        : (['POST', kind > 0.4 ? '/jobs/later' : `/jobs/later?wait=${patience}`] as const)
    const body = method === 'POST' ? JSON.stringify(n) : ''
    const sent = call(server, { method, address, body, agent })
    try {
      const { status, body: answer } = await sent.answer
      this.#requests++
      this.#statuses[status] = (this.#statuses[status] ?? 0) + 1
      if (status === 202 && method === 'POST') this.#promised.set(String(answer['handle']), n)
      return status !== 503
    } catch (error) {
      const { code = '' } = error as { code?: string }
      const isLive = this.#options.end === 'kill' ? !state.isEnding : !sent.isTurnedAway(code)
      if (isLive) this.#resets++
      else this.#turnedAway++
      return false
    }
  }

  /** L1, in a life of its own. */
  async #verify(handles: readonly string[], more: number): Promise<void> {
    await using server = await serve(this.#options.checkout, {}, this.#store)
    const all = [...this.#promised.keys()]
    const others = Array.from({ length: more }, () => all[Math.floor(this.#random() * all.length)])
    const wanted = new Set([...handles, ...others.filter((each) => each !== undefined)])
    const agent = new Agent({ keepAlive: true, maxSockets: 8 })
    const look = async (handle: string): Promise<void> => {
      const address = `/results/${handle}/0?wait=${patience}`
      const { status, body } = await call(server, { method: 'GET', address, body: '', agent })
        .answer
      if (status === 200 && body['result'] === this.#promised.get(handle)) return
      this.#lost.push(`life ${this.#life}: ${handle}: ${status} ${JSON.stringify(body)}`)
    }
    const queue = [...wanted]
    const reader = async (): Promise<void> => {
      for (let handle = queue.pop(); handle !== undefined; handle = queue.pop()) await look(handle)
    }
    await Promise.all(Array.from({ length: 8 }, reader))
    agent.destroy()
  }
}

interface Calling {
  readonly method: 'GET' | 'POST'
  readonly address: string
  readonly body: string
  readonly agent: Agent | undefined
}

interface Sent {
  readonly answer: Promise<{
    readonly status: number
    readonly body: Readonly<Record<string, unknown>>
  }>
  /** Whether the request has not reached the server: refused, or the kept connection was closed before. */
  isTurnedAway(code: string): boolean
}

function call({ host, port }: Served, { method, address, body, agent }: Calling): Sent {
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const sent = request({ host, port, path: address, method, headers, agent: agent ?? false })
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<Sent['answer']>>()
  sent.on('error', reject)
  sent.on('response', (response) => {
    text(response).then(
      (whole) =>
        resolve({
          status: response.statusCode!,
          body: JSON.parse(whole) as Record<string, unknown>,
        }),
      reject,
    )
  })
  sent.end(body)
  return { answer: promise, isTurnedAway: (code) => code === 'ECONNREFUSED' || wasClosed(sent) }
}

/** The server closed a kept connection in the moment in which this request was sent on it. */
function wasClosed(sent: ClientRequest): boolean {
  return sent.reusedSocket && sent.socket?.readableEnded === true
}
