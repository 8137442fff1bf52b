import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../fixtures/serve.ts', import.meta.url))

/** A server that can be killed and started again at the same address. */
export class ServerProcess implements AsyncDisposable {
  readonly #store: string
  #process: ChildProcess | undefined
  url = ''

  constructor(store: string) {
    this.#store = store
  }

  async start(): Promise<this> {
    const port = this.url === '' ? '0' : new URL(this.url).port
    const args = ['--conditions=heddle-source', '--disable-warning=ExperimentalWarning', script]
    const child = spawn(process.execPath, [...args, this.#store, port], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#process = child
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.startsWith('http')) continue
      this.url = line
      return this
    }
    throw new Error('the server ended before it listened')
  }

  /** Simulates a power cut: nothing is written, no connection is closed by the program. */
  async kill(): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** `SIGSTOP`: simulates a machine that stands still; `SIGCONT`: lets it continue. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process!.kill(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()) as T
  }

  async get<T>(path: string): Promise<T> {
    return (await (await fetch(this.url + path)).json()) as T
  }
}
