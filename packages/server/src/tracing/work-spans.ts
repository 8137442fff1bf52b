/** The spans of a computation: see request-span.ts for the tree and T1 to T3. */
import {
  ROOT_CONTEXT,
  SpanStatusCode,
  context,
  isSpanContextValid,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api'
import { HeddleError } from '@heddle/core'
import type { AttemptReport } from '@heddle/core/lowlevel'
import { idsOf, traceparentOf, tracer } from './request-span.ts'

export interface TracedWork {
  readonly job: string
  readonly handle: string
  readonly tenant: string
  readonly priority: number
}

export class WorkSpans {
  readonly #span: Span
  readonly #context: Context

  private constructor(span: Span, parent: Context) {
    this.#span = span
    this.#context = trace.setSpan(parent, span)
  }

  /**
   * Undefined where nothing is traced (T1).
   *
   * @param parent That of the request which starts the computation. After a restart there is none.
   */
  static begin(work: TracedWork, parent: Context = ROOT_CONTEXT): WorkSpans | undefined {
    const attributes = {
      'heddle.job': work.job,
      'heddle.handle': work.handle,
      'heddle.tenant': work.tenant,
      'heddle.priority': work.priority,
    }
    const span = tracer.startSpan(`job ${work.job}`, { attributes }, parent)
    return isSpanContextValid(span.spanContext()) ? new WorkSpans(span, parent) : undefined
  }

  /** For the log. */
  get ids(): ReturnType<typeof idsOf> {
    return idsOf(this.#context)
  }

  /** A request that waits for a computation which another one has started: its span gets a link. */
  join(request: Context | undefined): void {
    const span = request && trace.getSpan(request)
    if (span === undefined) return
    span.setAttribute('heddle.joined', true)
    span.addLink({ context: this.#span.spanContext() })
  }

  stage(name: 'prepare' | 'item', place: string, index?: number): StageSpans {
    const attributes = {
      'heddle.place': place,
      ...(index !== undefined && { 'heddle.index': index }),
    }
    return new StageSpans(name, attributes, this.#context)
  }

  /** @param state `done`, or how it ended otherwise. */
  end(state: 'done' | 'cancelled' | 'failed', error?: unknown): void {
    this.#span.setAttribute('heddle.outcome', state)
    endSpan(this.#span, state === 'failed' ? { error } : undefined)
  }
}

/** Spans of one stage of a computation, with the wait and the run of each attempt. */
export class StageSpans {
  readonly #span: Span
  readonly #context: Context
  readonly #attributes: Attributes
  #queue: Span | undefined
  #run: Span | undefined

  constructor(name: string, attributes: Attributes, parent: Context) {
    this.#attributes = attributes
    this.#span = tracer.startSpan(name, { attributes }, parent)
    this.#context = trace.setSpan(parent, this.#span)
  }

  onReport(report: AttemptReport): void {
    switch (report.type) {
      case 'queued':
        this.#queue = tracer.startSpan('queue', {}, this.#context)
        return
      case 'started':
        this.#queue?.end()
        this.#queue = undefined
        this.#run = this.#startRun(report.attempt)
        return
      case 'retrying':
        return this.#endRun({ error: report.error })
      case 'ended':
        return this.#endRun(report.how === 'succeeded' ? undefined : { error: report.error })
      case 'suspended':
      case 'resumed':
      case 'log':
      case 'progress':
    }
  }

  /** The trace parent of the running attempt. */
  traceparent(): string | undefined {
    return this.#run && traceparentOf(this.#run)
  }

  /** Calls a job with the span of its attempt as the active one. */
  within<T>(call: () => T): T {
    return this.#run === undefined
      ? call()
      : context.with(trace.setSpan(this.#context, this.#run), call)
  }

  /** Harmless twice (T2). */
  end(failure?: { readonly error: unknown }): void {
    this.#queue?.end()
    this.#queue = undefined
    this.#endRun(failure)
    if (!this.#span.isRecording()) return
    endSpan(this.#span, failure)
  }

  #startRun(attempt: number): Span {
    const attributes = { ...this.#attributes, 'heddle.attempt': attempt }
    return tracer.startSpan('run', { attributes }, this.#context)
  }

  #endRun(failure: { readonly error: unknown } | undefined): void {
    if (this.#run === undefined) return
    endSpan(this.#run, failure)
    this.#run = undefined
  }
}

/** T3: an error of a job may contain anything. */
function endSpan(span: Span, failure: { readonly error: unknown } | undefined): void {
  if (failure !== undefined) {
    const { error } = failure
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.setAttribute('error.type', error instanceof HeddleError ? error.code : 'job_failed')
  }
  span.end()
}
