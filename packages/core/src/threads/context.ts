import { randomUUID } from 'node:crypto'
import type { ArtifactContent, ArtifactInfo } from '../artifacts/artifact-store.ts'
import { HeddleError } from '../errors.ts'
import type { JobContext } from '../graph/job.ts'
import { progressText, toText } from '../kernel/to-text.ts'
import { isCancelled, type Ticket } from './task-ownership.ts'

/** The calls that a context makes to its thread. */
export interface ContextHost {
  readonly words: Int32Array
  /** Reads messages of the loop. */
  readMail(): void
  /** Sends a line to the loop. */
  log(ticket: Ticket, text: string): void
  /** Sends how far the job has come to the loop. */
  progress(ticket: Ticket, fraction: number, text: string | undefined): void
  /** Sends an artifact to the loop, which has the store. */
  artifact(ticket: Ticket, name: string, content: ArtifactContent): Promise<ArtifactInfo>
}

/** The context of a job in a thread, and the thread's record of the job while it runs. */
export class ThreadContext implements JobContext {
  readonly name: string
  readonly attempt: number
  readonly ticket: Ticket
  /** Its idempotency key, when it was given one. */
  identity: string | undefined
  traceparent: string | undefined
  /** Whether the loop replaces what its texts hold of secrets: then it gets all of the text. */
  isRedacted = false
  readonly #host: ContextHost
  #controller: AbortController | undefined
  #reason: unknown
  #aborted = false

  constructor(name: string, attempt: number, ticket: Ticket, host: ContextHost) {
    this.name = name
    this.attempt = attempt
    this.ticket = ticket
    this.#host = host
  }

  get cancelled(): boolean {
    return isCancelled(this.#host.words, this.ticket)
  }

  get signal(): AbortSignal {
    // The reason is in the mail before the word changes: a job that has not returned to its event
    // loop since then still gets a signal with the right reason.
    if (!this.#aborted && this.cancelled) this.#host.readMail()
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** A getter, so that `{ log }` can be taken out of the context. */
  get log(): (text: unknown) => void {
    return (text) => this.#host.log(this.ticket, toText(text))
  }

  get progress(): (fraction: number, text?: string) => void {
    return (fraction, text) => {
      const all = text === undefined ? undefined : toText(text)
      const sent = all === undefined || this.isRedacted ? all : progressText(all)
      this.#host.progress(this.ticket, fraction, sent)
    }
  }

  get artifact(): JobContext['artifact'] {
    return (name, content) => this.#host.artifact(this.ticket, name, content)
  }

  get idempotencyKey(): string {
    return (this.identity ??= randomUUID())
  }

  // A type error; where the type was cast away, an error that says why.
  get run(): never {
    return this.#refuseStep('run')
  }

  get sleep(): never {
    return this.#refuseStep('sleep')
  }

  get waitFor(): never {
    return this.#refuseStep('waitFor')
  }

  #refuseStep(step: string): never {
    throw new HeddleError('HDL_NO_STEPS', { node: this.name, step })
  }

  abort(reason: unknown): void {
    this.#aborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}
