import { Worker as Thread } from 'node:worker_threads'
import { HeddleError } from '@heddle/core'
import { describe, waitFor, type Kernel } from '@heddle/core/lowlevel'
import type { FromNetwork, NetworkSettings, ToNetwork } from './network-messages.ts'

/** Threads run the same kind of file as the loop does: sources from sources, built from built. */
const entry = new URL(
  import.meta.url.endsWith('.ts') ? './network-thread.ts' : './network-thread.js',
  import.meta.url,
)

/** Failures that may pass, whatever their body says. */
const passing: ReadonlySet<number> = new Set([408, 429])

/** A defect of the server must not end its workers. 501 says that something is not there: artifacts. */
function isServerError(status: number): boolean {
  return status >= 500 && status !== 501
}

/** What the server refused, in its own words. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  readonly retryable: boolean
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    error: { code?: string; message?: string; retryable?: boolean; retry_after_ms?: number },
  ) {
    super(error.message ?? `the server answered with status ${status}`)
    this.name = 'Refused'
    this.status = status
    this.code = error.code ?? String(status)
    this.retryable = error.retryable === true || passing.has(status) || isServerError(status)
    this.retryAfter = error.retry_after_ms
  }
}

export interface CallOptions {
  /** Milliseconds for one request. Default 30,000. */
  readonly within?: number
  /** Ends the retries. */
  readonly signal?: AbortSignal
  /** Milliseconds for all tries together; 0 is one try. No end when absent. */
  readonly insistFor?: number
}

const usualWithin = 30_000
/** For one try of an upload. */
const uploadWithin = 600_000
/** Cuts of one upload after which it has failed. */
const mostCuts = 20
const longestPause = 30_000
/** Milliseconds: a server that says to come back later than this is asked earlier. */
const longestRetryAfter = 600_000

/** Makes the message to the thread for one try. */
type MakeMessage = (id: number, within: number) => ToNetwork

/** The loop's side of the network thread. */
export class Network {
  readonly #thread: Thread
  readonly #kernel: Kernel
  readonly #calls = new Map<number, PromiseWithResolvers<{ status: number; body: string }>>()
  #lastId = 0
  #lastContact: number
  #ended: Error | undefined
  onLost: (lease: string, reason: string) => void = () => undefined
  /** The server asks to stop the job of a lease. */
  onStop: (lease: string, reason: string) => void = () => undefined
  /** A call failed and is repeated: after the first failure, the second, the fourth and so on. */
  onTrouble: (problem: string) => void = () => undefined

  constructor(settings: NetworkSettings, kernel: Kernel) {
    this.#kernel = kernel
    this.#lastContact = kernel.clock.now()
    this.#thread = new Thread(entry, { workerData: settings, name: 'heddle-network' })
    this.#thread.on('message', (message: FromNetwork) => this.#on(message))
    this.#thread.once('error', (error) => this.#end(error))
    this.#thread.once('exit', () =>
      this.#end(new HeddleError('HDL_CLOSED', { what: 'The network thread' })),
    )
  }

  /** Milliseconds since the last answer of the server. */
  get silence(): number {
    return this.#kernel.clock.now() - this.#lastContact
  }

  hold(lease: string, epoch: number, nextBeat: number, isWatched: boolean): void {
    this.#post({ kind: 'hold', lease, epoch, nextBeat, isWatched })
  }

  drop(lease: string): void {
    this.#post({ kind: 'drop', lease })
  }

  progress(lease: string, fraction?: number, text?: string): void {
    this.#post({ kind: 'progress', lease, fraction, text })
  }

  /**
   * One request, repeated with full jitter while its failure may pass.
   *
   * *Cancellation*: the signal ends the wait, the retries and the connection that the request has; the server may have acted on it.
   * Only a claim stays under way: the worker says that it leaves.
   * @throws {Refused} when the server says that repeating it cannot help.
   */
  call<T>(path: string, body: object, options: CallOptions = {}): Promise<T> {
    const text = JSON.stringify(body)
    return this.#insist(options, path, (id, within) => ({
      kind: 'call',
      id,
      path,
      body: text,
      within,
    }))
  }

  /**
   * The bytes of a file, in a stream; one that was cut continues where the server has it.
   *
   * *Cancellation*: as call().
   * @throws {Refused} as call().
   */
  async upload<T>(
    path: string,
    file: string,
    length: number,
    options: CallOptions = {},
  ): Promise<T> {
    const within = options.within ?? uploadWithin
    for (let failures = 0; ; failures++) {
      const { received: start } = await this.#insist<{ received: number }>(
        options,
        path,
        (id, time) => ({
          kind: 'ask',
          id,
          path,
          within: time,
        }),
      )
      try {
        // One try: after a cut the server is asked again how much it has.
        const query = `${path}&start=${start}`
        return await this.#insist<T>({ ...options, insistFor: 0, within }, path, (id, time) => ({
          kind: 'upload',
          id,
          path: query,
          file,
          start: Math.min(start, length),
          length,
          within: time,
        }))
      } catch (error) {
        const mayPass = this.#mayPass(error)
        if (!mayPass || failures >= mostCuts) throw error
        options.signal?.throwIfAborted()
        await this.#pause(
          this.#kernel.random.next() * 1_000 * 2 ** Math.min(failures, 5),
          options.signal,
        )
      }
    }
  }

  /**
   * The bytes of an answer, into a file.
   *
   * *Cancellation*: as call().
   * @throws {Refused} as call().
   */
  async download(path: string, file: string, options: CallOptions = {}): Promise<void> {
    const within = options.within ?? uploadWithin
    await this.#insist({ ...options, within }, path, (id, time) => ({
      kind: 'download',
      id,
      path,
      file,
      within: time,
    }))
  }

  async #insist<T>(options: CallOptions, what: string, message: MakeMessage): Promise<T> {
    const { clock, random } = this.#kernel
    const { insistFor = Infinity, signal } = options
    const giveUpAt = clock.now() + insistFor
    for (let failures = 0; ; failures++) {
      const left = insistFor === 0 ? Infinity : Math.ceil(giveUpAt - clock.now())
      const within = Math.min(options.within ?? usualWithin, left)
      try {
        return (await this.#once(what, message, within, signal)) as T
      } catch (error) {
        const asked = error instanceof Refused ? (error.retryAfter ?? 0) : 0
        const least = Math.min(Math.max(0, asked), longestRetryAfter)
        const pause = least + random.next() * Math.min(200 * 2 ** failures, longestPause)
        if (!this.#mayPass(error) || clock.now() + pause >= giveUpAt) throw error
        signal?.throwIfAborted()
        if (isPowerOfTwo(failures + 1)) this.onTrouble(`${pathOf(what)}: ${describe(error)}`)
        await this.#pause(pause, signal)
      }
    }
  }

  async stop(): Promise<void> {
    await this.#thread.terminate()
  }

  /** Whether the same call may succeed later. Without the thread none does, whatever ended it. */
  #mayPass(error: unknown): boolean {
    if (this.#ended !== undefined) return false
    return error instanceof Refused ? error.retryable : true
  }

  async #once(
    what: string,
    message: MakeMessage,
    within: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    if (this.#ended !== undefined) throw this.#ended
    const id = ++this.#lastId
    const call = Promise.withResolvers<{ status: number; body: string }>()
    this.#calls.set(id, call)
    this.#post(message(id, within))
    let isAnswered = false
    try {
      // The thread has its own deadline; this one is for a thread that stands still.
      const { clock } = this.#kernel
      const answer = await waitFor(call.promise, what, clock, {
        deadline: within + 5_000,
        signal,
      })
      isAnswered = true
      return readAnswer(what, answer)
    } finally {
      this.#calls.delete(id)
      if (!isAnswered) this.#post({ kind: 'cut', id })
    }
  }

  async #pause(delay: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#kernel.clock.setTimer(delay, resolve)
    signal?.addEventListener('abort', () => resolve(), { once: true })
    await promise
    timer.cancel()
    signal?.throwIfAborted()
  }

  #post(message: ToNetwork): void {
    if (this.#ended === undefined) this.#thread.postMessage(message)
  }

  #on(message: FromNetwork): void {
    switch (message.kind) {
      case 'answer':
        this.#lastContact = this.#kernel.clock.now()
        this.#calls.get(message.id)?.resolve(message)
        return
      case 'failed':
        this.#calls.get(message.id)?.reject(new Error(message.problem))
        return
      case 'lost':
        return this.onLost(message.lease, message.reason)
      case 'stop':
        return this.onStop(message.lease, message.reason)
      case 'contact':
        this.#lastContact = this.#kernel.clock.now()
        return
      case 'ping':
        this.#post({ kind: 'pong' })
    }
  }

  #end(error: Error): void {
    this.#ended ??= error
    for (const call of this.#calls.values()) call.reject(this.#ended)
  }
}

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0
}

/** Without the query: it says nothing to people. */
function pathOf(what: string): string {
  return what.split('?', 1)[0]!
}

/** What the answer of a server has at least one of, where the worker goes by it. */
const answersWith: Readonly<Record<string, readonly string[]>> = {
  '/fleet/register': ['protocol'],
  '/fleet/claim': ['offer', 'empty'],
  '/fleet/accept': ['next_beat_ms'],
  '/fleet/update': ['counted'],
  '/fleet/params': ['parameters'],
}

/** Said by whatever is in between about a request that it will never take. */
const neverTaken: ReadonlySet<number> = new Set([400, 411, 413, 414, 431])

function readAnswer(what: string, { status, body }: { status: number; body: string }): unknown {
  const read = readObject(parse(body))
  const isSuccess = status >= 200 && status < 300
  if (isSuccess && read !== undefined) {
    const wanted = answersWith[pathOf(what)]
    if (wanted === undefined || wanted.some((field) => field in read)) return read
  }
  const error = isSuccess ? undefined : readObject(read?.['error'])
  if (typeof error?.['retryable'] === 'boolean') throw new Refused(status, error)
  // A proxy, or another program at this address: what it says may pass (K1).
  throw new Refused(status, {
    message: `status ${status}, and not the answer of a Heddle server`,
    retryable: !neverTaken.has(status),
  })
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body) as unknown
  } catch {
    return undefined
  }
}

function readObject(given: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof given === 'object' && given !== null
    ? (given as Readonly<Record<string, unknown>>)
    : undefined
}
