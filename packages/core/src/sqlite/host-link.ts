/**
 * The loop's end of a thread that hosts a SQLite file: the other end is host-server.ts.
 *
 *   ask, change, stream ──▶ queued ──(end of the tick)──▶ sent ──▶ answered
 *                              └──────────┴── thread ended, stop() ──▶ failed
 *
 *  L1  Requests of one tick, or of one turn of the loop, travel in one message, in the order in which they were made.
 *  L2  Every request is settled once: by its answer, or by the end of the thread.
 *  L3  A request that cannot be sent fails alone: neither its companions nor the process fail with it.
 *  L4  Of a large value no more than `windowBytes` are under way before the thread has written them.
 *  L5  The thread keeps the process alive only while a request is open.
 *
 * Its life is that of kernel/service.ts: it runs from the moment it is made until stop().
 */
import { Worker } from 'node:worker_threads'
import { HeddleError, describe } from '../errors.ts'
import { AbortCallback } from '../kernel/abort.ts'
import type { Clock } from '../kernel/clock.ts'
import {
  Life,
  type RunningService,
  type ServiceState,
  type StopOptions,
} from '../kernel/service.ts'
import { decodeError } from '../threads/error-wire.ts'
import type { HostAnswer, HostAnswers, HostMessage, HostRequest } from './host-messages.ts'
import { giveAway } from './own-bytes.ts'

/** Bytes of one large value on their way to the thread before it has written any of them. */
const windowBytes = 4 * 2 ** 20

export interface HostLinkOptions {
  /** The module that the thread runs: see host-thread.ts. */
  readonly entry: URL
  /** Name of the thread, for people who inspect the process. */
  readonly name: string
  readonly data: object
  /** Named in errors: the file or folder, and the closed object. */
  readonly store: string
  readonly what: string
  readonly clock: Clock
  /**
   * Which requests travel together: those of one tick, which are sent at once, or all of one turn of the loop, for a thread that many
   * callers use at a time: a message costs the loop as much as some requests do. Default 'tick'.
   */
  readonly gather?: 'tick' | 'turn'
  /** The data that the file gets when it is closed. */
  closing?(): unknown
  onReport?(report: unknown): void
  /** The thread has ended by itself. */
  onEnd?(error: HeddleError): void
}

interface Queued {
  readonly request: HostRequest
  readonly bytes: Uint8Array<ArrayBuffer> | undefined
}

/** A large value on its way. */
interface Window {
  /** Bytes sent that the thread has not written yet. */
  open: number
  /** Called when it has written some, and when the value has failed. */
  resume: (() => void) | undefined
}

export class HostLink implements RunningService {
  readonly #options: HostLinkOptions
  readonly #life: Life
  readonly #worker: Worker
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #windows = new Map<number, Window>()
  #queue: Queued[] = []
  #lastId = 0
  #ended: HeddleError | undefined

  constructor(options: HostLinkOptions) {
    this.#options = options
    const { what, clock } = options
    const stop = (enough: AbortSignal): Promise<void> => this.#stop(enough)
    this.#life = new Life({ what, clock, deadline: Infinity, stop })
    this.#worker = new Worker(options.entry, {
      name: options.name,
      workerData: options.data,
      // Without the program's own preloads, which may be large and may have effects.
      execArgv: [],
    })
    this.#worker.unref()
    this.#worker.on('message', (message: HostAnswers) => this.#accept(message))
    this.#worker.on('error', (error) => this.#end(describe(error)))
    this.#worker.on('exit', (code) => this.#end(`its thread ended with code ${code}`))
  }

  /** Requests without an answer. */
  get pending(): number {
    return this.#pending.size
  }

  open(): Promise<unknown> {
    return this.#request({ id: ++this.#lastId, open: true })
  }

  ask(question: object, role = 0): Promise<unknown> {
    return this.#request({ id: ++this.#lastId, role, ask: question })
  }

  /** Resolves when the change is durable. The memory of `bytes`, which are a part of it, may be given away. */
  change(change: object, bytes?: Uint8Array<ArrayBuffer>, role = 0): Promise<unknown> {
    return this.#request({ id: ++this.#lastId, role, change }, bytes)
  }

  /**
   * Sends a large value in pieces; their memory may be given away. Resolves when the change that it becomes
   * is durable. When the pieces throw, nothing has changed, and it is rejected with their error.
   */
  async stream(
    head: object,
    pieces: AsyncIterable<Uint8Array<ArrayBuffer>> | readonly Uint8Array<ArrayBuffer>[],
    role = 0,
  ): Promise<unknown> {
    const id = ++this.#lastId
    const window: Window = { open: 0, resume: undefined }
    const outcome = this.#request({ id, role, begin: head })
    // Reported at the end; until then a failure only stops the sending.
    outcome.catch(() => window.resume?.())
    this.#windows.set(id, window)
    try {
      for await (const piece of pieces) {
        if (!this.#pending.has(id)) break
        window.open += piece.length
        this.#enqueue({ id, piece }, piece)
        while (window.open >= windowBytes && this.#pending.has(id)) {
          await new Promise<void>((resume) => (window.resume = resume))
        }
      }
    } catch (error) {
      if (this.#pending.has(id)) this.#enqueue({ id, abort: true })
      await outcome
      throw error
    } finally {
      this.#windows.delete(id)
    }
    if (this.#pending.has(id)) this.#enqueue({ id, end: true })
    return outcome
  }

  stats(): { readonly state: ServiceState; readonly pending: number } {
    return { state: this.#life.state, pending: this.#pending.size }
  }

  /**
   * Closes the file, then ends the thread. Requests that were made before it are answered first; at the deadline
   * the thread is ended without them, and they fail.
   *
   * *Cancellation*: counts as the deadline.
   * @throws why the file could not be closed; `HDL_STORE_FAILED` when the thread has ended by itself.
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  /** Ends the thread at once. Requests without an answer fail. */
  kill(): Promise<void> {
    return this.stop({ deadline: 0 })
  }

  async #stop(enough: AbortSignal): Promise<void> {
    const closed = enough.aborted ? undefined : this.#close()
    this.#ended ??= this.#life.closed()
    const cut = (): void => {
      // oxlint-disable-next-line typescript/no-floating-promises -- it is waited for below
      void this.#worker.terminate()
    }
    using _cut = enough.aborted ? undefined : new AbortCallback(enough, cut)
    try {
      await closed
    } catch (error) {
      if (!enough.aborted) throw error
    } finally {
      await this.#worker.terminate()
      this.#failAll()
    }
  }

  #close(): Promise<unknown> {
    return this.#request({ id: ++this.#lastId, close: this.#options.closing?.() })
  }

  #request(request: HostRequest, bytes?: Uint8Array<ArrayBuffer>): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    const answer = Promise.withResolvers<unknown>()
    this.#pending.set(request.id, answer)
    if (this.#pending.size === 1) this.#worker.ref()
    this.#enqueue(request, bytes)
    return answer.promise
  }

  #enqueue(request: HostRequest, bytes?: Uint8Array<ArrayBuffer>): void {
    this.#queue.push({ request, bytes })
    if (this.#queue.length > 1) return
    const { gather = 'tick', clock } = this.#options
    if (gather === 'turn') return clock.afterIo(this.#flush)
    // oxlint-disable-next-line typescript/no-floating-promises -- a microtask without an AsyncResource; #flush() does not throw
    void flushed.then(this.#flush)
  }

  readonly #flush = (): void => {
    const queue = this.#queue
    this.#queue = []
    if (queue.length === 0) return
    if (this.#post(queue) === undefined) return
    // Finds the refused value by sending each alone.
    for (const queued of queue) {
      const error = this.#post([queued])
      if (error !== undefined) this.#refuse(queued.request, error)
    }
  }

  /** Undefined when they were sent, else why not: nothing was sent then. */
  #post(queue: readonly Queued[]): Error | undefined {
    const transfer: ArrayBuffer[] = []
    for (const { bytes } of queue) if (bytes !== undefined) giveAway(bytes, transfer)
    const requests = queue.map(({ request }) => request)
    const message: HostMessage = { now: this.#options.clock.wallTime(), requests }
    try {
      this.#worker.postMessage(message, transfer)
      return undefined
    } catch (error) {
      return error as Error
    }
  }

  #refuse({ id }: HostRequest, error: Error): void {
    const details = {
      store: this.#options.store,
      action: 'be sent a request',
      cause: describe(error),
    }
    this.#settle(id)?.reject(new HeddleError('HDL_STORE_FAILED', details, { cause: error }))
  }

  #accept({ answers, report }: HostAnswers): void {
    if (report !== undefined) this.#options.onReport?.(report)
    for (const answer of answers) this.#take(answer)
  }

  #take(answer: HostAnswer): void {
    if ('credit' in answer) {
      const window = this.#windows.get(answer.id)
      if (window === undefined) return
      window.open -= answer.credit
      window.resume?.()
      return
    }
    const waiting = this.#settle(answer.id)
    if ('error' in answer) waiting?.reject(decodeError(answer.error))
    else waiting?.resolve(answer.value)
  }

  #settle(id: number): PromiseWithResolvers<unknown> | undefined {
    const waiting = this.#pending.get(id)
    if (this.#pending.delete(id) && this.#pending.size === 0) this.#worker.unref()
    return waiting
  }

  #end(cause: string): void {
    if (this.#ended === undefined) {
      const details = { store: this.#options.store, action: 'be used', cause }
      this.#ended = new HeddleError('HDL_STORE_FAILED', details)
      this.#failAll()
      this.#options.onEnd?.(this.#ended)
    } else this.#failAll()
  }

  #failAll(): void {
    this.#queue = []
    const waiting = [...this.#pending.values()]
    this.#pending.clear()
    for (const { reject } of waiting) reject(this.#ended)
  }
}

const flushed = Promise.resolve()
