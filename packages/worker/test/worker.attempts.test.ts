/** A job behaves on a worker as it does in this process, in a graph of `run()`. Served over HTTP: worker.served.test.ts. */
import { Graph, startRun, type NodeState, type Run, type RunEvent } from '@heddle/core'
import { describe, openJournal, seededRandom, type Journal } from '@heddle/core/lowlevel'
import {
  attemptRow,
  attemptsConformance,
  type AttemptsDriver,
  type JobEnd,
  type OpenAttempts,
  type StartedJob,
  type VirtualClock,
} from '@heddle/core/testing'
import { AttemptsFleet } from './support/attempts-fleet.ts'

/** The jobs as nodes of one graph, whose run is in this process. */
class RunDriver implements AttemptsDriver {
  readonly clock: VirtualClock
  readonly #options: OpenAttempts
  readonly #fleet: AttemptsFleet
  readonly #journal: Journal
  readonly #states = new Map<string, { state: NodeState; error: unknown }>()
  #run: Run | undefined

  private constructor(options: OpenAttempts, fleet: AttemptsFleet, journal: Journal) {
    this.clock = fleet.clock
    this.#options = options
    this.#fleet = fleet
    this.#journal = journal
  }

  static async open(options: OpenAttempts): Promise<RunDriver> {
    return new RunDriver(
      options,
      await AttemptsFleet.open(options, 'memory'),
      await openJournal('memory'),
    )
  }

  arrived(): Promise<void> {
    return this.#fleet.arrived()
  }

  async start(): Promise<StartedJob[]> {
    const { permits, resources } = this.#options
    const { jobs, server } = this.#fleet
    const graph = new Graph()
    for (const job of jobs) graph.add(job.name, job, { input: null })
    const observer = (event: RunEvent): void => {
      if (event.type !== 'node') return
      this.#states.set(event.name, { state: event.state, error: event.error })
    }
    const run = await startRun(graph, {
      concurrency: permits,
      ...(resources !== undefined && { resources }),
      places: { fleet: server.fleet },
      observer,
      journal: this.#journal,
      kernel: { clock: this.clock, random: seededRandom(1) },
    })
    this.#run = run
    return jobs.map(({ name }) => ({
      ended: () => this.#ended(name),
      cancel: () => void run.scheduler.remove(name),
      rows: () => this.#rows(name),
    }))
  }

  async #ended(name: string): Promise<JobEnd> {
    for (;;) {
      const { state, error } = this.#states.get(name) ?? { state: 'waiting', error: undefined }
      if (state === 'failed') return { state, message: describe(error) }
      if (state === 'cancelled' || state === 'skipped') return { state: 'cancelled' }
      if (state === 'succeeded') {
        return { state, value: await this.#journal.valueOf(this.#run!.id!, name) }
      }
      await this.clock.settle()
    }
  }

  async #rows(name: string): Promise<string[]> {
    await this.clock.settle()
    const rows: string[] = []
    for await (const row of this.#journal.history(this.#run!.id!)) {
      const text = attemptRow(row)
      if (text !== undefined && 'node' in row && row.node === name) rows.push(text)
    }
    return rows
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const run = this.#run
    run?.scheduler.cancel({ abort: true })
    let isOver = run === undefined
    void run?.result.finally(() => (isOver = true))
    // Stopping on the worker takes real time, and its grace is virtual.
    while (!isOver) await this.clock.advance(100)
    await this.#journal.stop()
    await this.#fleet[Symbol.asyncDispose]()
  }
}

attemptsConformance('a worker, in run()', (options) => RunDriver.open(options))
