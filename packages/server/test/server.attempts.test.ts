/** A job behaves on a server, over HTTP, as it does in a graph run. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Job } from '@heddle/core'
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
import { startServer, type Server } from '../src/server.ts'
import { cancel, fetchResult, submit } from './support/http.ts'
import { reach } from '../../core/test/kernel/until.ts'

/** Every job is acknowledged, so that the journal has its rows; its end is asked for without waiting. */
class ServerDriver implements AttemptsDriver {
  readonly isQuiet = true
  readonly clock: VirtualClock
  readonly #jobs: readonly Job[]
  readonly #server: Server
  readonly #folder: string
  readonly #address: string

  private constructor(clock: VirtualClock, jobs: readonly Job[], server: Server, folder: string) {
    this.clock = clock
    this.#jobs = jobs
    this.#server = server
    this.#folder = folder
    this.#address = `sqlite:${path.join(folder, 'serve.db')}`
  }

  static async open({ jobs, permits, resources }: OpenAttempts): Promise<ServerDriver> {
    const folder = await mkdtemp(path.join(tmpdir(), 'heddle-attempts-'))
    const clock = new VirtualClock()
    const server = await startServer({
      jobs,
      port: 0,
      errorDetails: 'everyone',
      store: `sqlite:${path.join(folder, 'serve.db')}`,
      limits: { loop: permits, thread: permits, resources },
      kernel: { clock, random: seededRandom(1) },
    })
    return new ServerDriver(clock, jobs, server, folder)
  }

  async start(): Promise<StartedJob[]> {
    const started: StartedJob[] = []
    for (const { name } of this.#jobs) {
      const body = await this.#acknowledged(name)
      if (body.error !== undefined) {
        started.push(failedAtOnce(body.error.message))
        continue
      }
      const handle = body['handle'] as string
      const request = body['request'] as string
      let isCancelled = false
      started.push({
        ended: () =>
          (isCancelled ? { state: 'cancelled' } : this.#ended(handle)) as Promise<JobEnd>,
        cancel: async () => {
          const answer = await cancel(this.#server, request)
          assert.equal(answer.body['state'], 'cancelled')
          isCancelled = true
        },
        rows: () => this.#rows(handle),
      })
    }
    return started
  }

  /**
   * Submits until the server acknowledges. A job in a thread takes real time: when it fails before its
   * acknowledgement is on the disk, the submit is answered with the failure, and the journal has no rows. A job that
   * always fails before it can start is answered like that each time.
   */
  async #acknowledged(name: string): Promise<SubmitBody> {
    for (let tries = 1; ; tries++) {
      const { status, body } = await submit(this.#server, name, null).reply
      if (status === 202) return body
      assert.equal(body.error!.code, 'job_failed')
      if (tries === 20) return body
    }
  }

  async #ended(handle: string): Promise<JobEnd> {
    const { status, body } = await reach(
      () => fetchResult(this.#server, handle, 0, 'wait=0').reply,
      (reply) => reply.status !== 202,
    )
    if (status === 200) return { state: 'succeeded', value: body['result'] }
    return { state: 'failed', message: body.error!.message }
  }

  async #rows(handle: string): Promise<string[]> {
    await using journal = await openJournal(this.#address, { readOnly: true })
    const rows: string[] = []
    const run = await runOf(journal, handle)
    if (run === undefined) return []
    for await (const row of journal.history(run)) {
      const text = attemptRow(row)
      if (text !== undefined && 'node' in row && row.node === 'prepare') rows.push(text)
    }
    return rows
  }

  async [Symbol.asyncDispose](): Promise<void> {
    let isStopped = false
    void this.#server.drain({ deadline: 0 }).then(() => (isStopped = true))
    // It waits for sockets, which take real time, and for limits, which are virtual.
    while (!isStopped) await this.clock.advance(100)
    await rm(this.#folder, { recursive: true, force: true })
  }
}

type SubmitBody = Awaited<ReturnType<typeof submit>['reply']>['body']

/** A job whose submit was answered with its failure. */
function failedAtOnce(message: string): StartedJob {
  return {
    ended: () => Promise.resolve({ state: 'failed', message }),
    cancel: () => undefined,
    rows: () => Promise.resolve([]),
  }
}

/** Undefined when it has nothing to tell, or not yet. */
async function runOf(journal: Journal, handle: string): Promise<string | undefined> {
  for (const { id } of await journal.runs()) {
    const { options } = await journal.snapshot(id)
    if (options['handle'] === handle) return id
  }
  return undefined
}

attemptsConformance('server over HTTP', (options) => ServerDriver.open(options))
