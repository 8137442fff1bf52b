/**
 * Lets a test decide when jobs in another process end: each connects here, says its name and waits.
 * Nothing depends on how fast the machine is.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { until } from '../../../core/test/kernel/until.ts'

export class Stage implements AsyncDisposable {
  readonly folder: string = mkdtempSync(path.join(os.tmpdir(), 'heddle-cli-'))
  readonly #server: Server
  readonly #jobs = new Map<string, Socket>()
  readonly #pids = new Map<string, number>()
  /** Every start, in order. */
  readonly starts: string[] = []
  #wake = Promise.withResolvers<void>()

  constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => {
      socket.setEncoding('utf8')
      socket.on('error', () => {})
      socket.once('data', (hello: string) => {
        const { name, pid } = JSON.parse(hello) as { name: string; pid: number }
        this.starts.push(name)
        this.#pids.set(name, pid)
        this.#jobs.set(name, socket)
        // A process that was killed takes its jobs with it.
        socket.once('close', () => {
          if (this.#jobs.get(name) === socket) this.#jobs.delete(name)
          this.#stir()
        })
        this.#stir()
      })
    })
  }

  static async open(): Promise<Stage> {
    const stage = new Stage(createServer())
    stage.#server.listen(stage.address)
    await once(stage.#server, 'listening')
    return stage
  }

  get address(): string {
    return path.join(this.folder, 'stage')
  }

  get env(): Record<string, string> {
    return { HEDDLE_TEST_STAGE: this.address }
  }

  /** Waits until a job of this name has started. */
  async started(name: string): Promise<void> {
    while (!this.#jobs.has(name)) await this.#wake.promise
  }

  /**
   * Waits until a job whose process was killed is gone from here. Its connection may be closed later than the
   * end of the process is reported: until then the job of the next process would be taken for this one.
   */
  async left(name: string): Promise<void> {
    while (this.#jobs.has(name)) await this.#wake.promise
  }

  /** The process in which a job has started. */
  pidOf(name: string): number {
    return this.#pids.get(name)!
  }

  /** Waits until a process has ended. */
  async gone(pid: number): Promise<void> {
    // There is no event for the end of a process that is not our child.
    await until(() => {
      try {
        return !process.kill(pid, 0)
      } catch {
        return true
      }
    })
  }

  /** Waits until the job has started, then lets it end: with an error if one is given. */
  async finish(name: string, error = ''): Promise<void> {
    await this.started(name)
    this.#jobs.get(name)!.end(error === '' ? 'ok' : error)
    this.#jobs.delete(name)
  }

  /** Lets a job that runs say something. */
  async say(name: string, text: string): Promise<void> {
    await this.started(name)
    this.#jobs.get(name)!.write(`log ${JSON.stringify(text)}\n`)
  }

  #stir(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#jobs.values()) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
    rmSync(this.folder, { recursive: true, force: true })
  }
}
