/**
 * How many leases a worker runs at a time: in all, or at each place.
 *
 *  R1  A number is a total over both places; numbers by place limit each of them, and no job waits for a place it does not use.
 */
import { availableParallelism } from 'node:os'
import { HeddleError, type Job } from '@heddle/core'

/** Where this machine runs a job: those of a module in a thread, so that the loop of the worker stays free. */
export type LocalPlace = 'loop' | 'thread'

export type WorkerConcurrency = number | { readonly [place in LocalPlace]?: number | undefined }

/** The fields that decide where a job runs, and its name in the protocol. */
type NamedJob = Pick<Job, 'name' | 'module'>

export function localPlaceOf(job: NamedJob): LocalPlace {
  return job.module === undefined ? 'loop' : 'thread'
}

export class LeaseRoom {
  /** Leases that it runs when every place is taken. */
  readonly total: number
  readonly #limits: Readonly<Record<LocalPlace, number>>
  readonly #taken: Record<LocalPlace, number> = { loop: 0, thread: 0 }

  /** @throws `HDL_BAD_OPTION`. */
  constructor(concurrency: WorkerConcurrency = availableParallelism()) {
    if (typeof concurrency === 'number') {
      checkCount('concurrency', concurrency)
      this.total = concurrency
      this.#limits = { loop: concurrency, thread: concurrency }
      return
    }
    const { loop = availableParallelism(), thread = availableParallelism(), ...other } = concurrency
    const [unknown] = Object.keys(other)
    if (unknown !== undefined) {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'concurrency',
        value: unknown,
        expected: 'the places of a worker: loop and thread',
      })
    }
    checkCount('concurrency.loop', loop)
    checkCount('concurrency.thread', thread)
    this.total = loop + thread
    this.#limits = { loop, thread }
  }

  take(job: NamedJob): void {
    this.#taken[localPlaceOf(job)]++
  }

  give(job: NamedJob): void {
    this.#taken[localPlaceOf(job)]--
  }

  /** The names of the jobs for which no place is free. */
  fullOf(jobs: readonly NamedJob[]): readonly string[] {
    const { loop, thread } = this.#taken
    const isFull = loop + thread >= this.total
    const full = jobs.filter((job) => {
      const place = localPlaceOf(job)
      return isFull || this.#taken[place] >= this.#limits[place]
    })
    return [...new Set(full.map(({ name }) => name))]
  }
}

function checkCount(option: string, value: number): void {
  if (Number.isInteger(value) && value >= 1) return
  throw new HeddleError('HDL_BAD_OPTION', {
    option,
    value,
    expected: 'a whole number of at least 1',
  })
}
