/** A job behaves on a worker as it does in this process, served over HTTP. In a graph of `run()`: worker.attempts.test.ts. */
import assert from 'node:assert/strict'
import { openJournal } from '@heddle/core/lowlevel'
import {
  attemptRow,
  attemptsConformance,
  type AttemptsDriver,
  type JobEnd,
  type OpenAttempts,
  type StartedJob,
  type VirtualClock,
} from '@heddle/core/testing'
import { reach } from '../../core/test/kernel/until.ts'
import { AttemptsFleet } from './support/attempts-fleet.ts'

interface Body {
  readonly handle: string
  readonly request: string
  readonly result: unknown
  readonly state: string
  readonly error?: { readonly message: string }
}

/** Every job is acknowledged, so that the journal has its rows; its end is asked for without waiting. */
class ServedDriver implements AttemptsDriver {
  readonly isQuiet = true
  readonly clock: VirtualClock
  readonly #fleet: AttemptsFleet

  private constructor(fleet: AttemptsFleet) {
    this.clock = fleet.clock
    this.#fleet = fleet
  }

  static async open(options: OpenAttempts): Promise<ServedDriver> {
    return new ServedDriver(await AttemptsFleet.open(options, 'sqlite'))
  }

  arrived(): Promise<void> {
    return this.#fleet.arrived()
  }

  async start(): Promise<StartedJob[]> {
    const started: StartedJob[] = []
    for (const { name } of this.#fleet.jobs) {
      const { status, body } = await this.#ask('POST', `/jobs/${name}`, null)
      if (status !== 202) {
        // It failed before its acknowledgement was on the disk: the submit is answered with that.
        const message = body.error!.message
        started.push({
          ended: () => Promise.resolve({ state: 'failed', message }),
          cancel: () => undefined,
          rows: () => Promise.resolve([]),
        })
        continue
      }
      const { handle, request } = body
      let isCancelled = false
      started.push({
        ended: async () => (isCancelled ? { state: 'cancelled' } : this.#ended(handle)),
        cancel: async () => {
          const answer = await this.#ask('DELETE', `/requests/${request}`)
          assert.equal(answer.body.state, 'cancelled')
          isCancelled = true
        },
        rows: () => this.#rows(handle),
      })
    }
    return started
  }

  async #ended(handle: string): Promise<JobEnd> {
    const { status, body } = await reach(
      () => this.#ask('GET', `/results/${handle}/0?wait=0`),
      (answer) => answer.status !== 202,
    )
    if (status === 200) return { state: 'succeeded', value: body.result }
    return { state: 'failed', message: body.error!.message }
  }

  async #rows(handle: string): Promise<string[]> {
    await using journal = await openJournal(this.#fleet.store, { readOnly: true })
    const rows: string[] = []
    for (const { id } of await journal.runs()) {
      const { options } = await journal.snapshot(id)
      if (options['handle'] !== handle) continue
      for await (const row of journal.history(id)) {
        const text = attemptRow(row)
        if (text !== undefined && 'node' in row && row.node === 'prepare') rows.push(text)
      }
    }
    return rows
  }

  async #ask(
    method: string,
    route: string,
    body?: unknown,
  ): Promise<{ status: number; body: Body }> {
    const response = await fetch(this.#fleet.server.url + route, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Body }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#fleet[Symbol.asyncDispose]()
  }
}

attemptsConformance('a worker, served over HTTP', (options) => ServedDriver.open(options))
