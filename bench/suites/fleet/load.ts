/**
 * A fleet of workers that do nothing but talk: raw sockets, open loop. Each call is due at a time, and its latency counts from
 * that time, so a server or a generator that stands still is charged for it.
 *
 *   connect ─▶ register ─▶ claim ─▶ accept ─▶ beat every 120 s, update every 1,350 s ─▶ after 1,800 s: last update, version,
 *   claim, accept … ; a connection that breaks is opened again within 30 s, at a random time, with a beat
 *
 *  G1  A worker has one call under way, from its first byte to its answer, however often it is sent; what becomes due
 *      meanwhile waits, and its latency counts.
 *  G2  Leases that the generator holds are counted, and units that were acknowledged: the server must have the same.
 */
import { randomUUID } from 'node:crypto'
import { DueHeap } from './due-heap.ts'
import { Latency, type LatencyFigures } from './latency.ts'
import { Wire, type Answer } from './wire.ts'

export interface LoadOptions {
  readonly workers: number
  /** The factor by which all periods are divided. */
  readonly speed: number
  /** Addresses of servers; workers take them in turn. */
  readonly servers: readonly { readonly host: string; readonly port: number }[]
  readonly token?: string | undefined
  /** Milliseconds over which workers begin; 0 for all at once. */
  readonly ramp: number
}

const updateEvery = 1_350_000
const cycleEvery = 1_800_000
/** Milliseconds within which a worker that lost its connection comes back: at a random time, so that no herd comes. */
const backWithin = 30_000
const longestRetry = 30_000
/** Milliseconds for the last answers. */
const settleWithin = 120_000

export const callNames = [
  'register',
  'version',
  'claim',
  'accept',
  'beat',
  'update',
  'finish',
] as const
export type CallName = (typeof callNames)[number]

interface Call {
  readonly due: number
  readonly worker: LoadWorker
  readonly name: CallName
  /** The lease that the call belongs to: an ended lease drops its calls. */
  readonly life: number
}

interface LoadLease {
  readonly lease: string
  readonly epoch: number
  readonly start: number
  readonly size: number
  sequence: number
  done: number
  progress: number
  isAccepted: boolean
}

export interface LoadFigures {
  readonly seconds: number
  readonly requests: number
  readonly perSecond: number
  readonly errors: number
  readonly calls: Readonly<Partial<Record<CallName, LatencyFigures>>>
  /** Leases that the generator holds now. */
  readonly held: number
  /** Units that the server has acknowledged since the start. */
  readonly units: number
  /** Leases that the server has ended against the worker's will. */
  readonly lost: number
  readonly connections: number
  readonly reconnects: number
  /** The longest time by which the generator itself was late. */
  readonly generatorLagMs: number
}

class LoadWorker {
  readonly id: string = randomUUID()
  readonly index: number
  readonly wire: Wire
  readonly waiting: Call[] = []
  /** Under way: sent, or about to be sent again because its answer was lost. */
  current: Call | undefined
  request = ''
  held: LoadLease | undefined
  life = 0
  failures = 0
  repeat: NodeJS.Timeout | undefined

  constructor(index: number, wire: (worker: LoadWorker) => Wire) {
    this.index = index
    this.wire = wire(this)
  }

  get description(): object {
    return {
      id: this.id,
      name: `load-${this.index}`,
      threads: 1,
      memory: 1_000,
      capabilities: ['avx2', 'popcnt', 'bmi2'],
      tags: [`rack-${this.index % 40}`],
      system: 'linux-x64',
      jobs: [{ name: 'load', version: '1' }],
    }
  }
}

export class Load {
  readonly #options: LoadOptions
  readonly #workers: LoadWorker[] = []
  readonly #heap = new DueHeap<Call>()
  readonly #latency = new Map<CallName, Latency>(callNames.map((name) => [name, new Latency()]))
  #timer: NodeJS.Timeout | undefined
  #since = performance.now()
  #requests = 0
  #errors = 0
  #reconnects = 0
  #lag = 0
  #lost = 0
  /** Units of closed leases. */
  #units = 0
  #isOver = false
  #isStopped = false
  readonly #answeredAt: number[] = []
  #watchFrom: number | undefined
  #seenBack = new Set<LoadWorker>()

  constructor(options: LoadOptions) {
    this.#options = options
    for (let index = 0; index < options.workers; index++) {
      this.#workers.push(new LoadWorker(index, (worker) => this.#wire(worker)))
    }
  }

  start(): void {
    const now = performance.now()
    for (const worker of this.#workers) {
      this.#later(worker, 'register', now + Math.random() * this.#options.ramp)
    }
    this.#timer = setInterval(() => this.#drain(), 1)
  }

  /** Forgets the measurements so far; leases and units stay counted. */
  reset(): void {
    for (const latency of this.#latency.values()) latency.reset()
    this.#since = performance.now()
    this.#requests = 0
    this.#errors = 0
    this.#reconnects = 0
    this.#lag = 0
  }

  get held(): number {
    return this.#workers.reduce((sum, { held }) => sum + Number(held?.isAccepted === true), 0)
  }

  figures(): LoadFigures {
    const seconds = (performance.now() - this.#since) / 1_000
    const calls = [...this.#latency].filter(([, latency]) => latency.figures().count > 0)
    const open = this.#workers.reduce((sum, { held }) => sum + (held?.done ?? 0), 0)
    return {
      seconds: Math.round(seconds * 10) / 10,
      requests: this.#requests,
      perSecond: Math.round((this.#requests / seconds) * 10) / 10,
      errors: this.#errors,
      calls: Object.fromEntries(calls.map(([name, latency]) => [name, latency.figures()])),
      held: this.held,
      units: this.#units + open,
      lost: this.#lost,
      connections: this.#workers.filter(({ wire }) => wire.isOpen).length,
      reconnects: this.#reconnects,
      generatorLagMs: Math.round(this.#lag * 10) / 10,
    }
  }

  /** Cuts the connections of a part of the workers. Their leases continue when they come back. */
  cut(part: number): void {
    for (const { wire } of this.#workers) if (Math.random() < part) wire.cut()
  }

  /** From now on records when workers get their first answer after an outage. */
  watchReturn(): void {
    this.#watchFrom = performance.now()
    this.#seenBack = new Set()
    this.#answeredAt.length = 0
  }

  /** How many workers are back, how long that took, and the largest number in 100 ms against the mean. */
  returned(): { workers: number; seconds: number; herd: number } {
    const times = this.#answeredAt
    if (times.length === 0) return { workers: 0, seconds: 0, herd: 0 }
    const last = times.at(-1)!
    const first = times[0]!
    const slots = new Map<number, number>()
    for (const at of times) {
      const slot = Math.floor((at - first) / 100)
      slots.set(slot, (slots.get(slot) ?? 0) + 1)
    }
    const mean = times.length / Math.max(1, Math.ceil((last - first) / 100))
    return {
      workers: times.length,
      seconds: Math.round(last / 100) / 10,
      herd: Math.round((Math.max(...slots.values()) / mean) * 100) / 100,
    }
  }

  /** Sends nothing new; resolves when calls under way were answered, repeated ones too. */
  async settle(): Promise<void> {
    this.#isOver = true
    const until = performance.now() + settleWithin
    while (this.#workers.some(({ current }) => current !== undefined)) {
      if (performance.now() > until) throw new Error('calls were not answered')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
    for (const { wire, repeat } of this.#workers) {
      clearTimeout(repeat)
      wire.close()
    }
  }

  #wire(worker: LoadWorker): Wire {
    const { servers, token } = this.#options
    const { host, port } = servers[worker.index % servers.length]!
    // 127.0.0.2 and so on: each address has its own ports.
    const group = Math.floor(worker.index / 20_000)
    return new Wire({
      host,
      port,
      token,
      ...(group > 0 && { from: `127.0.0.${group + 1}` }),
      onAnswer: (answer) => this.#onAnswer(worker, answer),
      onClose: () => this.#onClose(worker),
    })
  }

  #later(worker: LoadWorker, name: CallName, due: number): void {
    this.#heap.push({ due, worker, name, life: worker.life })
  }

  /** After one period; in the first lease of a worker at any time of it, as in a fleet that has worked for hours. */
  #laterBy(worker: LoadWorker, name: CallName, period: number): void {
    const isFirst = worker.life === 0 && worker.held?.sequence === 0
    const part = isFirst ? Math.random() : 0.9 + 0.2 * Math.random()
    this.#later(worker, name, performance.now() + (part * period) / this.#options.speed)
  }

  /** When the server says. */
  #beatLater(worker: LoadWorker, body: Record<string, unknown>): void {
    const wait = Number(body['next_beat_ms']) / this.#options.speed
    this.#later(worker, 'beat', performance.now() + wait)
  }

  #drain(): void {
    const now = performance.now()
    for (let call = this.#heap.first; call !== undefined && call.due <= now;) {
      this.#heap.pop()
      this.#lag = Math.max(this.#lag, now - call.due)
      this.#begin(call)
      call = this.#heap.first
    }
  }

  #begin(call: Call): void {
    const { worker } = call
    if (call.life !== worker.life || this.#isOver) return
    if (worker.current !== undefined) return void worker.waiting.push(call)
    worker.current = call
    if (!worker.wire.isOpen && worker.failures === 0 && call.name !== 'register') this.#reconnects++
    this.#send(call)
  }

  #send(call: Call): void {
    const [path, body] = this.#request(call)
    call.worker.wire.send(path, body)
  }

  #request({ worker, name }: Call): readonly [path: string, body: string] {
    const { held, id } = worker
    const lease = held === undefined ? {} : { lease: held.lease, epoch: held.epoch, worker: id }
    switch (name) {
      case 'register':
        return ['/fleet/register', text({ protocol: [1], worker: worker.description })]
      case 'version':
        return ['/fleet/version', text({ protocol: [1] })]
      case 'claim':
        // The same id is sent again when its answer was lost.
        if (worker.request === '') worker.request = randomUUID()
        return [
          '/fleet/claim',
          text({ worker: worker.description, request: worker.request, wait_ms: 20_000, holds: [] }),
        ]
      case 'accept':
        return ['/fleet/accept', text(lease)]
      case 'beat': {
        const leases = [{ lease: held!.lease, epoch: held!.epoch, progress: ++held!.progress }]
        return ['/fleet/beat', text({ worker: id, leases })]
      }
      case 'update':
      case 'finish': {
        const done = name === 'finish' ? held!.size : Math.min(held!.size - 1, held!.done + 1)
        const report = { sequence: held!.sequence + 1, done, result: [done, 0, 0] }
        return ['/fleet/update', text({ ...lease, ...report })]
      }
    }
  }

  #onAnswer(worker: LoadWorker, { status, body }: Answer): void {
    const call = worker.current
    if (call === undefined) return
    const now = performance.now()
    this.#requests++
    this.#latency.get(call.name)!.add(now - call.due)
    if (status !== 200 && status !== 410) {
      this.#errors++
      this.#latency.get(call.name)!.errors++
      return this.#repeat(call)
    }
    worker.current = undefined
    if (status === 410) this.#lose(worker)
    else {
      worker.failures = 0
      this.#noteReturn(worker, now)
      this.#succeeded(worker, call.name, JSON.parse(body) as Record<string, unknown>)
    }
    this.#next(worker)
  }

  #next(worker: LoadWorker): void {
    const next = worker.waiting.shift()
    if (next !== undefined) this.#begin(next)
  }

  #succeeded(worker: LoadWorker, name: CallName, body: Record<string, unknown>): void {
    switch (name) {
      case 'register':
      case 'version':
        return this.#later(worker, 'claim', performance.now())
      case 'claim':
        return this.#onClaim(worker, body)
      case 'accept':
        worker.held!.isAccepted = true
        this.#beatLater(worker, body)
        this.#laterBy(worker, 'update', updateEvery)
        return this.#laterBy(worker, 'finish', cycleEvery)
      case 'beat':
        if ((body['lost'] as unknown[]).length > 0) return this.#lose(worker)
        return this.#beatLater(worker, body)
      case 'update':
      case 'finish':
        return this.#onReport(worker, name, body)
    }
  }

  #onClaim(worker: LoadWorker, body: Record<string, unknown>): void {
    worker.request = ''
    const offer = body['offer'] as
      | { lease: string; epoch: number; work: { start: number; size: number } }
      | undefined
    if (offer === undefined) return this.#later(worker, 'claim', performance.now() + 1_000)
    const { lease, epoch, work } = offer
    const { start, size } = work
    worker.held = {
      lease,
      epoch,
      start,
      size,
      sequence: 0,
      done: 0,
      progress: 0,
      isAccepted: false,
    }
    this.#later(worker, 'accept', performance.now())
  }

  #onReport(worker: LoadWorker, name: CallName, body: Record<string, unknown>): void {
    const held = worker.held!
    held.sequence++
    held.done = name === 'finish' ? held.size : Math.min(held.size - 1, held.done + 1)
    if (body['closed'] === undefined) return this.#laterBy(worker, 'update', updateEvery)
    this.#units += held.done
    this.#endLease(worker)
    this.#later(worker, 'version', performance.now())
  }

  /** The server has ended the lease. Its acknowledged units stay counted. */
  #lose(worker: LoadWorker): void {
    // An offer that was not accepted in time goes back at no cost: also when its server was killed.
    if (worker.held?.isAccepted === true) this.#lost++
    this.#units += worker.held?.done ?? 0
    this.#endLease(worker)
    this.#later(worker, 'version', performance.now())
  }

  #endLease(worker: LoadWorker): void {
    worker.held = undefined
    worker.life++
    worker.waiting.length = 0
  }

  #onClose(worker: LoadWorker): void {
    if (this.#isStopped) return
    if (worker.current !== undefined) return this.#repeat(worker.current)
    // A sign of life, soon, at a time of its own: the server may have been restarted.
    if (worker.held !== undefined) {
      this.#later(worker, 'beat', performance.now() + Math.random() * backWithin)
    }
  }

  /**
   * Sends it again, with full jitter. It keeps its due time: its latency counts on. It stays under way: a report whose answer
   * was lost may have been counted, and another one under its number would be taken for it.
   */
  #repeat(call: Call): void {
    const { worker } = call
    const longest = Math.min(200 * 2 ** worker.failures++, longestRetry)
    clearTimeout(worker.repeat)
    worker.repeat = setTimeout(() => this.#send(call), Math.random() * longest).unref()
  }

  #noteReturn(worker: LoadWorker, now: number): void {
    if (this.#watchFrom === undefined || this.#seenBack.has(worker)) return
    this.#seenBack.add(worker)
    this.#answeredAt.push(now - this.#watchFrom)
  }
}

function text(body: object): string {
  return JSON.stringify(body)
}
