/**
 * The threads that archives are made in.
 *
 *   run() ──▶ the first thread is free ──────────────────────────────▶ there
 *     └─────▶ waits for it ──(200 ms, or all jobs together 1 s)──▶ in whichever is free
 *
 * A thread costs a quarter of a second of a processor before it runs its first job, and 150 small packages need little
 * more than that in all (docs/decisions/0605). So there is one, until waiting for it has cost more than another one.
 *
 * Invariants, quoted by the tests:
 *  PT1  While jobs wait little, there is one thread.
 *  PT2  A job that has waited for 200 ms runs beside the others.
 *  PT3  When all jobs together have waited for a second, no job waits any more while a thread could be had.
 */
import { isError, type Job } from '@heddle/core'
import { Semaphore, systemKernel, ThreadPool, type Clock, type Kernel } from '@heddle/core/lowlevel'

export interface PackThreadsOptions {
  /** Threads, at most. As many as the machine has processors when absent. */
  readonly threads?: number
  readonly kernel?: Kernel
}

/** Milliseconds a job has to remove its unfinished file, before its thread is ended. */
const grace = 10_000

/** Milliseconds that a job waits for the first thread, and that all jobs together do. */
const patience = 200
const patienceOfAll = 1_000

export class PackThreads implements AsyncDisposable {
  readonly #pool: ThreadPool
  readonly #first: Semaphore
  readonly #clock: Clock
  #waited = 0

  constructor({ threads, kernel = systemKernel }: PackThreadsOptions = {}) {
    this.#clock = kernel.clock
    this.#pool = new ThreadPool({ grace, threads, kernel })
    this.#first = new Semaphore({ permits: 1, name: 'the first pack thread', kernel })
  }

  /**
   * Runs a job in one of the threads. Idle they do not keep the process alive.
   *
   * Each of these jobs is in a file of its own that loads little: every thread loads it, and its imports, once more.
   *
   * *Cancellation*: as the job sees its signal.
   * *Fairness*: first come, first started.
   */
  async run<I, O>({ name, module }: Job<I, O>, input: I, signal: AbortSignal): Promise<O> {
    using _turn = await this.#turn(signal)
    return await this.#pool.run<O>({ module: module!, job: name, input }, { signal })
  }

  /** How many threads have been started and are there. */
  get count(): number {
    return this.#pool.stats().threads.length
  }

  /**
   * Ends the threads.
   *
   * *Cancellation*: none; jobs under way have the grace of the pool.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]()
  }

  /** Undefined where a job need not wait any more. */
  async #turn(signal: AbortSignal): Promise<Disposable | undefined> {
    const free = this.#first.tryAcquire()
    // heddle-ignore H101 -- a sum of waits that may pass its bound by those under way; nothing depends on its exact value
    if (free !== undefined || this.#waited >= patienceOfAll) return free
    const since = this.#clock.now()
    try {
      return await this.#first.acquire({ signal, deadline: patience })
    } catch (error) {
      if (isError(error, 'HDL_TIMEOUT')) return undefined
      throw error
    } finally {
      this.#waited += this.#clock.now() - since
    }
  }
}

let shared: PackThreads | undefined

/**
 * The same in threads that all calls share.
 *
 * *Cancellation*: as the job sees its signal.
 * *Fairness*: first come, first started.
 */
export function runInPackThread<I, O>(job: Job<I, O>, input: I, signal: AbortSignal): Promise<O> {
  shared ??= new PackThreads()
  return shared.run(job, input, signal)
}
