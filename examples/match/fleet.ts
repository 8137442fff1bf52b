/** A server and some workers on this machine. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startServer, type Server } from '@heddle/server'
import * as jobs from './jobs.ts'

const script = fileURLToPath(new URL('./worker.ts', import.meta.url))

export class LocalFleet implements AsyncDisposable {
  readonly server: Server
  readonly #workers: readonly ChildProcess[]

  private constructor(server: Server, workers: readonly ChildProcess[]) {
    this.server = server
    this.#workers = workers
  }

  static async start(workers: number): Promise<LocalFleet> {
    const server = await startServer({ jobs, port: 0, threads: 1 })
    const node = [process.execPath, ...process.execArgv, '--conditions=heddle-source'] as const
    const children = Array.from({ length: workers }, (_, index) => {
      const [command, ...args] = node
      return spawn(command, [...args, script, server.url, `worker-${index + 1}`], {
        stdio: ['ignore', 'ignore', 'inherit'],
      })
    })
    return new LocalFleet(server, children)
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    const response = await fetch(this.server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as T
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(this.server.url + path)
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as T
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#workers
      .filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      .map((child) => {
        child.kill('SIGTERM')
        return once(child, 'exit')
      })
    await Promise.all(ended)
    await this.server[Symbol.asyncDispose]()
  }
}
