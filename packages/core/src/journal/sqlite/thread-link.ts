/** The loop's end of one thread of a journal: questions with answers, and messages without. */
import { Worker } from 'node:worker_threads'
import { HeddleError, describe } from '../../errors.ts'
import { decodeError } from '../../threads/error-wire.ts'
import type { Answer } from './messages.ts'

/** `Q` are the questions, `A` their answers by type, `M` what the thread says unasked. */
export class ThreadLink<Q extends { readonly type: keyof A }, A, M extends object = never> {
  readonly #worker: Worker
  readonly #file: string
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #onMessage: (message: M) => void
  readonly #onEnd: (error: HeddleError) => void
  #lastId = 0
  #holds = 0
  #ended: HeddleError | undefined

  constructor(
    entry: URL,
    name: string,
    data: { readonly file: string },
    onMessage: (message: M) => void = () => undefined,
    onEnd: (error: HeddleError) => void = () => undefined,
  ) {
    this.#file = data.file
    this.#onMessage = onMessage
    this.#onEnd = onEnd
    this.#worker = new Worker(entry, {
      name,
      workerData: data,
      // Without the program's own preloads, which may be large and may have effects.
      execArgv: [],
    })
    this.#worker.unref()
    this.#worker.on('message', (message: Answer | M) => {
      if ('id' in message) this.#settle(message)
      else this.#onMessage(message)
    })
    this.#worker.on('error', (error) => this.#end(describe(error)))
    this.#worker.on('exit', (code) => this.#end(`its thread ended with code ${code}`))
  }

  ask<T extends Q>(question: T): Promise<A[T['type']]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    const answer = Promise.withResolvers<unknown>()
    const id = ++this.#lastId
    this.#asked.set(id, answer)
    this.hold()
    this.#worker.postMessage({ id, ...question })
    return answer.promise as Promise<A[T['type']]>
  }

  post(message: object, transfer: readonly ArrayBuffer[]): void {
    this.#worker.postMessage(message, transfer)
  }

  /** Something is under way: it keeps the process alive until letGo(). */
  hold(): void {
    if (this.#holds++ === 0) this.#worker.ref()
  }

  letGo(): void {
    if (--this.#holds === 0) this.#worker.unref()
  }

  /** Ends the thread. What was asked and not answered fails. */
  async end(): Promise<void> {
    this.#ended ??= new HeddleError('HDL_CLOSED', { what: `The journal ${this.#file}` })
    await this.#worker.terminate()
    this.#failAll()
  }

  #settle(answer: Answer): void {
    const waiting = this.#asked.get(answer.id)
    if (waiting === undefined) return
    this.#asked.delete(answer.id)
    this.letGo()
    if ('error' in answer) waiting.reject(decodeError(answer.error))
    else waiting.resolve(answer.value)
  }

  #end(cause: string): void {
    if (this.#ended !== undefined) return
    const details = { store: this.#file, action: 'be used', cause }
    this.#ended = new HeddleError('HDL_STORE_FAILED', details)
    this.#failAll()
    this.#onEnd(this.#ended)
  }

  #failAll(): void {
    for (const { reject } of this.#asked.values()) reject(this.#ended)
    this.#asked.clear()
  }
}
