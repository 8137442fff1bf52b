/**
 * The thread's side: takes tasks from its mail, runs them one after the other, posts each result.
 *
 * Invariants, quoted by the tests:
 *  R1  At most one job runs at a time, so an end of the thread is the fault of exactly one job.
 *  R2  A job starts only after claim() succeeded: a task taken back by the loop never runs here.
 *  R3  A result is posted when its job ends. Collecting results for 50 µs would give twice the
 *      calls per second, but a finished result would then wait behind a job that runs for seconds.
 *  R4  Between two jobs the thread is in its own event loop or about to be: it does not block on
 *      shared memory there, so leftovers of a job (a write to stdout, a closing socket) continue.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { receiveMessageOnPort, type Transferable } from 'node:worker_threads'
import type { Job } from '../graph/job.ts'
import type { Clock } from '../kernel/clock.ts'
import { ArtifactSender } from './artifact-flow.ts'
import { ThreadContext, type ContextHost } from './context.ts'
import { clause, decodeError, encodeError } from './error-wire.ts'
import { enterThread } from './inside-thread.ts'
import { decodeLarge, encodeLarge, isLarge } from './large.ts'
import { Loader } from './loader.ts'
import { LogWriter } from './log-flow.ts'
import {
  outcome,
  taskFields,
  type Control,
  type Notice,
  type Outcome,
  type ResultMessage,
  type TaskBatch,
  type ThreadData,
} from './thread-messages.ts'
import { transferOf } from './transfer-list.ts'
import { claim, type Ticket } from './task-ownership.ts'

interface KnownJob {
  readonly module: string
  readonly name: string
  found: Job | undefined
}

export class Runner {
  readonly #port: ThreadData['port']
  readonly #clock: Clock
  readonly #loader: Loader
  readonly #inside = new AsyncLocalStorage<ThreadContext>()
  readonly #jobs: KnownJob[] = []
  readonly #mail: TaskBatch[] = []
  /** Tasks in the mail whose input is encoded. */
  readonly #encoded = new Set<Ticket>()
  /** Position in the first batch. */
  #next = 0
  #current: ThreadContext | undefined
  #startedAt = 0
  #isRetiring = false
  #isWriting = false
  readonly #stdout = process.stdout
  readonly #stderr = process.stderr
  readonly #log: LogWriter
  readonly #artifacts: ArtifactSender
  readonly #contextHost: ContextHost

  constructor(data: ThreadData, clock: Clock) {
    this.#port = data.port
    this.#log = new LogWriter(data.logWords, clock, (lines) => this.#notify({ type: 'log', lines }))
    this.#artifacts = new ArtifactSender((notice, transfer = []) =>
      this.#port.postMessage(notice, transfer),
    )
    this.#contextHost = {
      words: data.words,
      readMail: () => this.#drain(),
      log: (ticket, text) => this.#log.write(ticket, text),
      progress: (ticket, fraction, text) => this.#log.report(ticket, fraction, text),
      artifact: (ticket, name, content) => this.#artifacts.send(ticket, name, content),
    }
    this.#clock = clock
    this.#loader = new Loader(clock, data.loadLimit)
    enterThread({
      inJob: () => this.#inside.getStore() !== undefined,
      parked: () => this.#loader.park(),
    })
    process.on('uncaughtException', (error) => this.#onUncaught(error))
    this.#port.on('message', (message: TaskBatch | Control) => {
      this.#accept(message)
      this.#drain()
      this.#pump()
    })
    this.#notify({ type: 'ready' })
  }

  #notify(notice: Notice): void {
    this.#port.postMessage(notice)
  }

  #drain(): void {
    for (
      let received = receiveMessageOnPort(this.#port);
      received !== undefined;
      received = receiveMessageOnPort(this.#port)
    ) {
      this.#accept(received.message as TaskBatch | Control)
    }
  }

  #accept(message: TaskBatch | Control): void {
    if (Array.isArray(message)) this.#mail.push(message)
    else if (message.type === 'job') {
      this.#jobs[message.id] = { module: message.module, name: message.name, found: undefined }
    } else if (message.type === 'encoded') {
      this.#encoded.add(message.ticket)
    } else if (message.type === 'artifact') {
      this.#artifacts.accept(message)
    } else if (this.#current?.ticket === message.ticket) {
      this.#current.abort(decodeError(message.reason))
    }
  }

  /** Runs the mail until it is empty or a job has to be awaited. */
  #pump(): void {
    while (this.#current === undefined && this.#mail.length > 0 && !this.#isRetiring) {
      const batch = this.#mail[0]!
      const at = this.#next
      this.#next += taskFields
      if (this.#next >= batch.length) {
        this.#mail.shift()
        this.#next = 0
      }
      const ticket = batch[at] as Ticket
      const isEncoded = this.#encoded.size > 0 && this.#encoded.delete(ticket)
      if (!claim(this.#contextHost.words, ticket)) continue
      const known = this.#jobs[batch[at + 1] as number]!
      const name = (batch[at + 2] as string | undefined) ?? known.name
      const context = new ThreadContext(name, batch[at + 3] as number, ticket, this.#contextHost)
      context.identity = batch[at + 5] as string | undefined
      context.traceparent = batch[at + 6] as string | undefined
      this.#current = context
      const sent = batch[at + 4]
      const input = isEncoded ? decodeLarge(sent as Uint8Array<ArrayBuffer>[]) : sent
      if (known.found === undefined) this.#findAndRun(known, input, context)
      else this.#run(known.found, input, context)
    }
  }

  #findAndRun(known: KnownJob, input: unknown, context: ThreadContext): void {
    this.#startedAt = this.#clock.now()
    this.#loader.find(known.module, known.name).then(
      (found) => {
        known.found = found
        this.#run(found, input, context)
        this.#pump()
      },
      (error: unknown) => {
        this.#finish(context, outcome.error, encodeError(error))
        this.#pump()
      },
    )
  }

  #run({ run, redact }: Job, input: unknown, context: ThreadContext): void {
    context.isRedacted = redact !== undefined
    this.#startedAt = this.#clock.now()
    let value: unknown
    try {
      value = this.#inside.run(context, run, input, context)
    } catch (error) {
      this.#finish(context, outcome.error, encodeError(error))
      return
    }
    if (typeof (value as { then?: unknown } | null | undefined)?.then !== 'function') {
      if (this.#artifacts.pending(context.ticket) === undefined) this.#succeed(context, value)
      else this.#succeedLater(context, Promise.resolve(value))
      return
    }
    // Through a native promise: the reactions of another kind may run in the job's own context,
    // and the next module would then be imported as if it were a part of this job.
    this.#succeedLater(context, Promise.resolve(value))
  }

  /** A job has returned when its artifacts are written, too. */
  #succeedLater(context: ThreadContext, value: Promise<unknown>): void {
    value.then(
      (settled) => {
        const pending = this.#artifacts.pending(context.ticket)
        if (pending !== undefined) {
          return this.#succeedLater(
            context,
            pending.then(() => settled),
          )
        }
        this.#succeed(context, settled)
        this.#pump()
      },
      (error: unknown) => {
        this.#finish(context, outcome.error, encodeError(error))
        this.#pump()
      },
    )
  }

  #succeed(context: ThreadContext, value: unknown): void {
    let transfer: Transferable[] | undefined
    if (isLarge(value)) {
      const body = encodeLarge(context.name, value)
      if (body !== undefined) {
        this.#finish(context, outcome.encoded, body, [body.buffer])
        return
      }
    }
    try {
      transfer = transferOf(value)
    } catch (error) {
      this.#finish(context, outcome.notCloneable, clause(error))
      return
    }
    this.#finish(context, outcome.value, value, transfer)
  }

  #finish(context: ThreadContext, how: Outcome, value: unknown, transfer?: Transferable[]): void {
    const ran = this.#clock.now() - this.#startedAt
    this.#current = undefined
    this.#artifacts.drop(context.ticket)
    if (!this.#isWriting && (this.#stdout.writableLength > 0 || this.#stderr.writableLength > 0)) {
      this.#watchOutput()
    }
    this.#log.flush()
    const result: ResultMessage = [context.ticket, how, ran, value]
    try {
      this.#port.postMessage(result, transfer)
    } catch (error) {
      this.#postRefused(result, transfer, error)
    }
    if (this.#isRetiring) process.exit(1)
  }

  /**
   * Output of a job goes through the loop, piece by piece. The loop is notified before it gets the
   * result: else a process whose work is done would end with half of the output.
   */
  #watchOutput(): void {
    const writing = [this.#stdout, this.#stderr].filter((stream) => stream.writableLength > 0)
    this.#isWriting = true
    this.#notify({ type: 'writing', isWriting: true })
    let left = writing.length
    const onWritten = (): void => {
      if (--left > 0) return
      this.#isWriting = false
      this.#notify({ type: 'writing', isWriting: false })
    }
    // A write is called back when everything before it has arrived.
    for (const stream of writing) stream.write('', onWritten)
  }

  #postRefused(result: ResultMessage, transfer: Transferable[] | undefined, error: unknown): void {
    const [ticket, , ran] = result
    try {
      // Some buffers, such as the memory of a WebAssembly instance, can be copied but not moved.
      if (transfer === undefined) throw error
      this.#port.postMessage(result)
    } catch (refused) {
      this.#port.postMessage([ticket, outcome.notCloneable, ran, clause(refused)])
    }
  }

  /**
   * An error that was not caught ends the thread: what it interrupted is not known. When it comes from
   * something that an earlier job left behind, the job that runs now is innocent and may finish.
   */
  #onUncaught(error: unknown): void {
    this.#log.flush()
    this.#notify({ type: 'fault', error: encodeError(error) })
    const origin = this.#inside.getStore()
    this.#isRetiring = true
    if (this.#current === undefined || origin === undefined || origin === this.#current) {
      process.exit(1)
    }
  }
}
