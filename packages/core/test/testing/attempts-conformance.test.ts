import { Graph, startRun, type NodeState, type Run, type RunEvent } from '@heddle/core'
import { openJournal, seededRandom, type Journal } from '@heddle/core/lowlevel'
import {
  VirtualClock,
  attemptRow,
  attemptsConformance,
  type AttemptsDriver,
  type JobEnd,
  type OpenAttempts,
  type StartedJob,
} from '@heddle/core/testing'
import { describe } from '../../src/errors.ts'

/** Runs the jobs as the nodes of one graph, with a journal. */
class RunDriver implements AttemptsDriver {
  readonly clock = new VirtualClock()
  readonly #options: OpenAttempts
  readonly #states = new Map<string, { state: NodeState; error: unknown }>()
  readonly #journal: Journal
  #run: Run | undefined

  constructor(options: OpenAttempts, journal: Journal) {
    this.#options = options
    this.#journal = journal
  }

  async start(): Promise<StartedJob[]> {
    const { jobs, permits, resources } = this.#options
    const graph = new Graph()
    for (const job of jobs) graph.add(job.name, job, { input: null })
    const observer = (event: RunEvent): void => {
      if (event.type !== 'node') return
      this.#states.set(event.name, { state: event.state, error: event.error })
    }
    const run = await startRun(graph, {
      concurrency: permits,
      ...(resources !== undefined && { resources }),
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
    this.#run?.scheduler.cancel({ abort: true })
    if (this.#run !== undefined) await this.clock.runUntil(this.#run.result)
    await this.#journal.stop()
  }
}

attemptsConformance('run()', async (options) => new RunDriver(options, await openJournal('memory')))
