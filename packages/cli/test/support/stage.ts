/**
 * Lets a test decide when jobs in another process end: each connects here, says its name and waits.
 * Nothing depends on how fast the machine is.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import os from 'node:os'
import path from 'node:path'

export class Stage implements AsyncDisposable {
  readonly folder: string = mkdtempSync(path.join(os.tmpdir(), 'heddle-cli-'))
  readonly #server: Server
  readonly #jobs = new Map<string, Socket>()
  /** Every start, in order. */
  readonly starts: string[] = []
  #wake = Promise.withResolvers<void>()

  constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => {
      socket.setEncoding('utf8')
      socket.on('error', () => {})
      socket.once('data', (name: string) => {
        this.starts.push(name)
        this.#jobs.set(name, socket)
        this.#wake.resolve()
        this.#wake = Promise.withResolvers()
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

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#jobs.values()) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
    rmSync(this.folder, { recursive: true, force: true })
  }
}
