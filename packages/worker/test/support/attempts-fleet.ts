/** A server on a virtual clock and a real worker, for the conformance suite of attempts. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Job } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock, type OpenAttempts } from '@heddle/core/testing'
import { startServer, type Server } from '@heddle/server'
import { nextCheck } from '../../../core/test/kernel/until.ts'
import { Worker, type WorkerEvent } from '../../src/index.ts'

/** The clock of the server leaps: what takes real time, such as the answer to an offer, must not be late by it. */
const ages = 1_000_000_000

interface Summary {
  readonly jobs_waiting: number
  readonly offered: number
}

export class AttemptsFleet implements AsyncDisposable {
  readonly clock: VirtualClock
  readonly server: Server
  /** The address of its store. */
  readonly store: string
  /** The jobs, with place `fleet`. */
  readonly jobs: readonly Job[]
  readonly #worker: Worker
  readonly #end: Promise<unknown>
  readonly #folder: string
  readonly #counts: Counts

  private constructor(
    clock: VirtualClock,
    server: Server,
    store: string,
    folder: string,
    jobs: readonly Job[],
    worker: Worker,
    counts: Counts,
  ) {
    this.clock = clock
    this.server = server
    this.store = store
    this.jobs = jobs
    this.#worker = worker
    this.#folder = folder
    this.#counts = counts
    this.#end = worker.run()
  }

  static async open(
    { jobs, permits, resources }: OpenAttempts,
    kind: 'memory' | 'sqlite',
  ): Promise<AttemptsFleet> {
    const folder = await mkdtemp(path.join(tmpdir(), 'heddle-attempts-'))
    const store = kind === 'memory' ? kind : `sqlite:${path.join(folder, 'serve.db')}`
    const clock = new VirtualClock()
    const onFleet = jobs.map((job): Job => ({
      ...job,
      place: 'fleet',
      module: job.module ?? import.meta.url,
    }))
    const server = await startServer({
      jobs: onFleet,
      port: 0,
      errorDetails: 'everyone',
      store,
      limits: { fleet: permits, resources, loopGap: Infinity },
      fleet: { offer: ages, beat: ages },
      kernel: { clock, random: seededRandom(1) },
    })
    const counts: Counts = { began: 0, ended: 0, accepted: 0, reported: 0 }
    const inThreads = new Set(jobs.filter(isInThread).map(({ name }) => name))
    const leases = new Set<string>()
    const worker = new Worker({
      server: server.url,
      jobs: jobs.map((job) => counted(job, counts)),
      concurrency: 16,
      onEvent: (event: WorkerEvent) => {
        if (event.kind === 'started' && !inThreads.has(event.job)) {
          leases.add(event.lease)
          counts.accepted++
        } else if (event.kind === 'ended' && leases.delete(event.lease)) counts.reported++
      },
    })
    return new AttemptsFleet(clock, server, store, folder, onFleet, worker, counts)
  }

  /** Waits until the worker has reported every ended attempt and has begun every waiting one. */
  async arrived(): Promise<void> {
    for (let checks = 1; ; checks++) {
      const { began, ended, accepted, reported } = this.#counts
      const response = await fetch(`${this.server.url}/fleet/summary`)
      const { jobs_waiting: waiting, offered } = (await response.json()) as Summary
      const isQuiet = reported >= ended && began >= accepted && waiting === 0 && offered === 0
      if (isQuiet && ended === this.#counts.ended && accepted === this.#counts.accepted) return
      await this.clock.settle()
      await nextCheck(checks)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.stop({ deadline: 0 })
    await this.#end
    let isStopped = false
    void this.server.drain({ deadline: 0 }).then(() => (isStopped = true))
    // It waits for sockets, which take real time, and for limits, which are virtual.
    while (!isStopped) await this.clock.advance(100)
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Counts of attempts on the worker: what jobs did, and what the worker has reported. */
interface Counts {
  began: number
  ended: number
  accepted: number
  reported: number
}

function isInThread({ module }: Job): boolean {
  return module !== undefined
}

/** Those in threads cannot be counted: their cases wait for rows. */
function counted(job: Job, counts: Counts): Job {
  if (isInThread(job)) return job
  return {
    ...job,
    run: async (input, context) => {
      counts.began++
      try {
        return await job.run(input, context)
      } finally {
        counts.ended++
      }
    },
  }
}
