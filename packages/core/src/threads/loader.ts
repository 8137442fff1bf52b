import { HeddleError } from '../errors.ts'
import { jobsOf, onDefine, type Job } from '../graph/job.ts'
import type { Clock } from '../kernel/clock.ts'
import { clause } from './error-wire.ts'

/**
 * Finds a job in this thread by importing the module that defines it.
 *
 * ```
 *   evaluating ──▶ evaluated
 *       │    └───▶ failed        the import threw: every job of the module fails with that cause
 *       └────────▶ parked        the main program has reached run() and stays there
 * ```
 *
 * A job is handed out when it is defined and its module is not `evaluating` any more. Being defined
 * is not enough: a job may use a constant that stands below it in the file, or one that a
 * top-level await fills. A module that stays `evaluating` longer than the limit (a main program
 * that waits for a signal, a server that is awaited) provides the jobs it has defined by then.
 *
 * Known limit: everything a main program does before it reaches run() happens in each thread too.
 */
interface Load {
  state: 'evaluating' | 'evaluated' | 'parked' | 'failed'
  error: unknown
  overdue: boolean
}

interface Search {
  readonly load: Load
  readonly module: string
  readonly name: string
  readonly resolve: (job: Job) => void
  readonly reject: (error: unknown) => void
}

export class Loader {
  readonly #clock: Clock
  readonly #limit: number
  readonly #loads = new Map<string, Load>()
  readonly #searches = new Set<Search>()

  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
    onDefine(() => this.#check())
  }

  /** Rejects with `HDL_THREAD_IMPORT` or `HDL_JOB_NOT_FOUND`. */
  find(module: string, name: string): Promise<Job> {
    const load = this.#loads.get(module) ?? this.#start(module)
    return new Promise((resolve, reject) => {
      this.#searches.add({ load, module, name, resolve, reject })
      this.#check()
    })
  }

  /** A main program has reached run(): its evaluation goes no further. */
  park(): void {
    for (const load of this.#loads.values()) if (load.state === 'evaluating') load.state = 'parked'
    this.#check()
  }

  #start(module: string): Load {
    const load: Load = { state: 'evaluating', error: undefined, overdue: false }
    this.#loads.set(module, load)
    const timer = this.#clock.setTimer(this.#limit, () => {
      load.overdue = true
      this.#check()
    })
    const settle = (state: Load['state'], error?: unknown): void => {
      timer.cancel()
      load.state = state
      load.error = error
      this.#check()
    }
    import(module).then(
      () => settle('evaluated'),
      (error: unknown) => settle('failed', error),
    )
    return load
  }

  #check(): void {
    for (const search of this.#searches) {
      const { load, module, name } = search
      if (load.state === 'failed') {
        const cause = clause(load.error)
        this.#end(search).reject(
          new HeddleError('HDL_THREAD_IMPORT', { job: name, module, cause }, { cause: load.error }),
        )
        continue
      }
      const job = jobsOf(module).get(name)
      if (job !== undefined) {
        if (load.state !== 'evaluating' || load.overdue) this.#end(search).resolve(job)
      } else if (load.state === 'evaluated' || load.overdue) {
        const found = [...jobsOf(module).keys()]
        this.#end(search).reject(new HeddleError('HDL_JOB_NOT_FOUND', { job: name, module, found }))
      }
    }
  }

  #end(search: Search): Search {
    this.#searches.delete(search)
    return search
  }
}
