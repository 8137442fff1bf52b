import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { packageArguments } from '../../harness/own-packages.ts'
import { endsWithin } from './ends-within.ts'

const script = fileURLToPath(new URL('serve.mjs', import.meta.url))

/** Milliseconds until a server that was started listens. */
const startWithin = 60_000
/** Milliseconds for a question to a server beside the load: it is answered or the run has failed. */
const answerWithin = 30_000
/** Milliseconds for a server to end in order; then it is killed. */
const endWithin = 10_000
/** Milliseconds between two tries of a call that the server asked to repeat. */
const againAfter = 200

export interface Usage {
  readonly cpuUs: number
  readonly rss: number
}

/** A server under load, of any maker. */
export abstract class LoadedServer implements AsyncDisposable {
  host = ''
  port = 0

  get url(): string {
    return `http://${this.host}:${this.port}`
  }

  abstract start(): Promise<this>
  abstract usage(): Promise<Usage>
  abstract kill(): Promise<void>
  abstract [Symbol.asyncDispose](): Promise<void>

  /** Takes the address from the line that the process printed when it listened. */
  protected setAddress(url: string): void {
    const { hostname, port } = new URL(url)
    this.host = hostname
    this.port = Number(port)
  }

  get<T>(path: string): Promise<T> {
    return this.#ask<T>(path, {})
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.#ask<T>(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  }

  /** The value of a metric; 0 when it is not there. */
  async metric(name: string): Promise<number> {
    const signal = AbortSignal.timeout(answerWithin)
    const response = await fetch(`${this.url}/metrics`, { signal })
    const line = (await response.text()).split('\n').find((each) => each.startsWith(`${name} `))
    return Number(line?.split(' ')[1] ?? 0)
  }

  /** Again while the server asks for that: servers that share the shards between them say so. */
  async #ask<T>(path: string, init: RequestInit): Promise<T> {
    const signal = AbortSignal.timeout(answerWithin)
    for (;;) {
      const response = await fetch(this.url + path, { ...init, signal })
      if (response.ok) return (await response.json()) as T
      const text = await response.text()
      if (response.status !== 503 || signal.aborted) throw new Error(`${path}: ${text}`)
      await sleep(againAfter)
    }
  }
}

/** Ours. It can be killed, and started again at the same address. */
export class HeddleServer extends LoadedServer {
  readonly #store: string
  readonly #execArgv: readonly string[]
  #child: ChildProcess | undefined

  constructor(store: string, execArgv: readonly string[] = []) {
    super()
    this.#store = store
    this.#execArgv = execArgv
  }

  async start(): Promise<this> {
    const child = fork(script, [this.#store, String(this.port)], {
      execArgv: [...packageArguments(), '--disable-warning=ExperimentalWarning', ...this.#execArgv],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child = child
    const ended = once(child, 'exit').then(() => {
      throw new Error('the server ended before it listened')
    })
    ended.catch(() => undefined)
    const listening = Promise.race([once(child, 'message'), ended]) as Promise<[{ url: string }]>
    try {
      const [message] = await endsWithin(startWithin, 'the start of a server', listening)
      this.setAddress(message.url)
      return this
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  }

  async usage(): Promise<Usage> {
    const answered = once(this.#child!, 'message') as Promise<[Usage]>
    this.#child!.send('usage')
    const [usage] = await endsWithin(answerWithin, 'the usage of a server', answered)
    return usage
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  /** Ends it in order, so that a profile is written. */
  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    if (child.connected) child.disconnect()
    try {
      await endsWithin(endWithin, 'the end of a server', ended)
    } catch {
      child.kill('SIGKILL')
      await ended
    }
  }
}
