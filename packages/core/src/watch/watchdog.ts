import { Worker, isMainThread } from 'node:worker_threads'
import { describe } from '../errors.ts'
import { threadFile } from '../kernel/thread-file.ts'
import { afterReactions } from '../kernel/turn.ts'
import {
  beatWord,
  lateWord,
  stopWord,
  wordCount,
  type WatchdogData,
  type WatchdogNotice,
} from './watchdog-data.ts'

/** Called on the main thread, as an interrupt, when the beat after this one is overdue. */
export type Look = (beat: number) => void

/**
 * Keyed by id, on the global object: the thread can only evaluate text, and text only reaches
 * globals.
 */
const looks: Map<number, Look> = ((globalThis as Record<symbol, unknown>)[
  Symbol.for('heddle.watch')
] ??= new Map()) as Map<number, Look>

/** The thread that samples the loop while it is stuck, seen from the loop. */
export class Watchdog {
  readonly #words = new Int32Array(new SharedArrayBuffer(wordCount * Int32Array.BYTES_PER_ELEMENT))
  readonly #onStarted: (blindness: string | undefined) => void
  readonly #id: number
  #worker: Worker | undefined
  #hasStarted = false

  /** `onStarted` is called once, later: with nothing, or with the reason why there will be no stacks. */
  constructor(patience: number, look: Look, onStarted: (blindness: string | undefined) => void) {
    this.#onStarted = onStarted
    // Several copies of this package share the map, and with it the numbering.
    let id = looks.size
    while (looks.has(id)) id++
    this.#id = id
    looks.set(id, look)
    this.#start(patience)
  }

  #start(patience: number): void {
    if (!isMainThread) {
      this.#tell('only the main thread can be watched')
      return
    }
    // Asked here, because Node 24 aborts the whole process when the thread connects without it.
    const permission = process.permission as typeof process.permission | undefined
    if (permission !== undefined && !permission.has('inspector')) {
      this.#tell('the permission for the inspector is missing (--allow-inspector)')
      return
    }
    const question = `globalThis[Symbol.for('heddle.watch')]?.get(${this.#id})`
    const data: WatchdogData = { words: this.#words, patience, question }
    try {
      this.#worker = new Worker(threadFile('watchdog'), {
        name: 'heddle-watchdog',
        workerData: { ...data, role: 'watchdog' },
        // Without the program's own preloads, which may be large and may have effects.
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
      })
    } catch (error) {
      this.#tell(describe(error))
      return
    }
    this.#worker
      .once('message', (notice: WatchdogNotice) => this.#tell(notice.blind))
      .once('error', (error) => this.#tell(describe(error)))
      .once('exit', () => this.#tell('the watchdog thread has ended'))
  }

  #tell(blindness: string | undefined): void {
    // Until then it keeps the process alive: a caller waits for the start.
    this.#worker?.unref()
    if (this.#hasStarted) return
    this.#hasStarted = true
    afterReactions(() => this.#onStarted(blindness))
  }

  /** The number of the last beat. */
  get beats(): number {
    return Atomics.load(this.#words, beatWord)
  }

  /** Whether the next beat is overdue, as far as the thread has noticed. */
  get isLate(): boolean {
    return Atomics.load(this.#words, lateWord) === 1
  }

  /** Says that the loop turns. */
  beat(): void {
    Atomics.store(this.#words, lateWord, 0)
    Atomics.add(this.#words, beatWord, 1)
    Atomics.notify(this.#words, beatWord)
  }

  /** Ends the thread. Calling it twice is harmless. */
  async end(): Promise<void> {
    looks.delete(this.#id)
    Atomics.store(this.#words, stopWord, 1)
    this.beat()
    await this.#worker?.terminate()
  }
}
