/**
 * The load of a server over the last ten minutes, one sample a second, the last requests that were refused for lack of
 * room, and what took longest. For people who investigate later; alerts are made from `/metrics`.
 *
 *  Y1  At most `most` samples and `mostRefusals` refusals are kept.
 *  Y2  A refusal has the Retry-After that its client was given.
 *  Y3  Of what ended in the last ten minutes at most `mostSlow` are kept: a faster one makes room for a slower one.
 */
import type { FastifyInstance } from 'fastify'
import {
  Life,
  type Clock,
  type ServiceState,
  type StopOptions,
  type Timer,
} from '@heddle/core/lowlevel'
import type { LoadView } from '../client/contract/machine.ts'

/** Milliseconds. */
const sampleEvery = 1_000
const most = 600
const mostRefusals = 100
const mostSlow = 20

export interface LoadSample {
  readonly at: number
  readonly utilisation: number
  readonly level: string
  readonly requests: number
  readonly threadsBusy: number
  readonly finished: number
  readonly refused: number
  readonly queued: Readonly<Record<string, number>>
}

type Refusal = LoadView['refusals'][number]
type Ended = LoadView['slowest'][number]

export class LoadHistory {
  readonly #clock: Clock
  readonly #look: () => Omit<LoadSample, 'at'>
  readonly #samples: LoadSample[] = []
  readonly #refusals: Refusal[] = []
  #refused = 0
  /** Slowest first. */
  #slowest: Ended[] = []
  #timer: Timer | undefined
  readonly #life: Life

  constructor(clock: Clock, look: () => Omit<LoadSample, 'at'>) {
    this.#clock = clock
    this.#look = look
    this.#life = new Life({
      what: 'The history of the load',
      clock,
      deadline: 1_000,
      start: () => this.#take(),
      stop: () => this.#timer?.cancel(),
    })
  }

  start(): Promise<void> {
    return this.#life.start()
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  stats(): { readonly state: ServiceState; readonly samples: number } {
    return { state: this.#life.state, samples: this.#samples.length }
  }

  #take(): void {
    this.#samples.push({ at: this.#clock.wallTime(), ...this.#look() })
    if (this.#samples.length > most) this.#samples.shift()
    this.#timer = this.#clock.setTimer(sampleEvery, () => this.#take())
  }

  /** Sees every answer of an application; to be called before it is ready. */
  follow(app: FastifyInstance): void {
    app.addHook('onResponse', (request, reply, done) => {
      if (reply.statusCode === 503 || reply.statusCode === 429) {
        const { contract } = request.routeOptions.config
        this.refuse({
          at: this.#clock.wallTime(),
          route: contract === undefined ? 'none' : `${contract.method} ${contract.path}`,
          status: reply.statusCode,
          retry_after_s: secondsOf(reply.getHeader('retry-after')),
        })
      }
      done()
    })
  }

  refuse(refusal: Refusal): void {
    this.#refused++
    this.#refusals.push(refusal)
    if (this.#refusals.length > mostRefusals) this.#refusals.shift()
  }

  /** Y3. */
  noteEnded(job: string, ms: number, ok: boolean): void {
    const last = this.#slowest.at(-1)
    const at = this.#clock.wallTime()
    const isFull = this.#slowest.length === mostSlow
    if (isFull && last!.ms >= ms && !this.#slowest.some((each) => isOld(each, at))) return
    const kept = this.#slowest.filter((each) => !isOld(each, at))
    const place = kept.findIndex((each) => each.ms < ms)
    kept.splice(place < 0 ? kept.length : place, 0, { at, job, ms, ok })
    this.#slowest = kept.slice(0, mostSlow)
  }

  view(): LoadView {
    const all = this.#samples
    const now = this.#clock.wallTime()
    const names = new Set(all.flatMap(({ queued }) => Object.keys(queued)))
    return {
      at: all.map(({ at }) => at),
      utilisation: all.map(({ utilisation }) => utilisation),
      level: all.map(({ level }) => level),
      requests: all.map(({ requests }) => requests),
      threads_busy: all.map(({ threadsBusy }) => threadsBusy),
      finished: all.map(({ finished }) => finished),
      refused: all.map(({ refused }) => refused),
      queued: Object.fromEntries(
        Array.from(names, (name) => [name, all.map(({ queued }) => queued[name] ?? 0)]),
      ),
      refusals: this.#refusals.toReversed(),
      refused_total: this.#refused,
      slowest: this.#slowest.filter((each) => !isOld(each, now)),
    }
  }
}

function isOld({ at }: Ended, now: number): boolean {
  return now - at > most * sampleEvery
}

function secondsOf(header: unknown): number | null {
  const seconds = Number(header)
  return header === undefined || !Number.isFinite(seconds) ? null : seconds
}
