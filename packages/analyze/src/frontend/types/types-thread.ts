/**
 * A compiler beside the analysis.
 *
 * It starts to load the program at once, while the analysis still parses: with two cores that is free.
 *
 *   starting ──▶ answering ⇄ asked ──close()──▶ closed
 *       └──────── the thread ends ────────────────▲
 *
 * I1. Every question is answered: without symbols when the thread has ended.
 * I2. Closing ends the thread and the compiler's process.
 */
import { Worker } from 'node:worker_threads'
import { describe, systemKernel } from '@heddle/core/lowlevel'
import type { Clock } from '@heddle/core/lowlevel'
import type { TypeSource } from '../types.ts'
import { environmentOf } from './compiler-environment.ts'
import { findCompilers } from './find-compiler.ts'
import { RequestLimit } from './request-limit.ts'
import type {
  Asked,
  FromTypes,
  SymbolsByFile,
  ToTypes,
  TypeProblem,
  TypesStart,
  TypesUpdate,
} from './types-protocol.ts'

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './compiler-thread.ts' : './compiler-thread.js',
  import.meta.url,
)

const nothing: SymbolsByFile = new Map()

export interface TypesThreadOptions extends Omit<TypesStart, 'overlays' | 'requests'> {
  /** Text that is newer than the file on disk, by absolute path. */
  readonly overlays?: ReadonlyMap<string, string> | undefined
  /** Milliseconds a single request may take before the compiler is given up. Default 30,000. */
  readonly requestLimit?: number
  /** Whether it answers again after edits. Default false. */
  readonly isKept?: boolean
  /** For the limit. Not that of the analysis: the compiler takes real time. Default the system's. */
  readonly clock?: Clock
}

export class TypesThread {
  readonly #thread: Worker
  readonly #waiting = new Map<number, (symbols: SymbolsByFile) => void>()
  readonly #ended: Promise<void>
  readonly #problems: TypeProblem[] = []
  readonly #limit: RequestLimit
  #source: TypeSource['kind']
  #isEnded = false
  #isClosing = false
  #next = 0

  constructor({
    root,
    files,
    overlays = new Map(),
    requestLimit = 30_000,
    clock = systemKernel.clock,
    isKept = false,
  }: TypesThreadOptions) {
    this.#limit = new RequestLimit(requestLimit, clock)
    const start: TypesStart = { root, files, overlays, requests: this.#limit.shared }
    // Until it has answered, the expected kind of compiler.
    this.#source = findCompilers(root)[0]?.kind ?? 'none'
    this.#thread = new Worker(entry, { workerData: start, env: environmentOf(files, isKept) })
    this.#thread.on('message', (message: FromTypes) => this.#hear(message))
    this.#thread.on('error', (error) => {
      const message = `The thread of the compiler failed: ${describe(error)}`
      this.#problems.push({ message, isLost: true })
    })
    this.#ended = new Promise((resolve) => {
      this.#thread.once('exit', () => {
        this.#isEnded = true
        this.#limit.close()
        if (!this.#isClosing) this.#source = 'none'
        for (const answer of this.#waiting.values()) answer(nothing)
        this.#waiting.clear()
        resolve()
      })
    })
  }

  /** Which compiler gave the last answer, or would give the first. */
  get source(): TypeSource['kind'] {
    return this.#source
  }

  /** The process of the compiler, when it has one. */
  get compilerPid(): number | undefined {
    return this.#limit.pid
  }

  /** The problems reported since the last call. */
  takeProblems(): readonly TypeProblem[] {
    return this.#problems.splice(0)
  }

  /**
   * Asks about positions of files. A file without an answer is not in the result.
   *
   * *Cancellation*: none of its own; a request of the compiler ends after its limit.
   * *Fairness*: questions are answered in order.
   */
  ask(asked: Asked): Promise<SymbolsByFile> {
    if (this.#isEnded || asked.size === 0) return Promise.resolve(nothing)
    const id = this.#next++
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.#say({ kind: 'ask', id, asked })
    })
  }

  update(update: TypesUpdate): void {
    this.#say({ kind: 'update', ...update })
  }

  /**
   * Ends the compiler.
   *
   * *Cancellation*: none; a question that is open is answered first, or without symbols.
   */
  async close(): Promise<void> {
    this.#isClosing = true
    // Without a question it loads the program or asks ahead: no caller waits for that.
    const isWanted = this.#waiting.size > 0
    if (!isWanted) this.#limit.end()
    // A thread without a compiler's process has nothing to end but itself.
    if (!isWanted && this.compilerPid === undefined) await this.#thread.terminate()
    else this.#say({ kind: 'close' })
    await this.#ended
  }

  #say(message: ToTypes): void {
    if (!this.#isEnded) this.#thread.postMessage(message)
  }

  #hear(message: FromTypes): void {
    if (message.kind === 'problem') {
      this.#problems.push(message.problem)
      return
    }
    this.#source = message.source
    this.#waiting.get(message.id)?.(message.symbols)
    this.#waiting.delete(message.id)
  }
}
