import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('serve.ts', import.meta.url))

export interface Usage {
  readonly cpuUs: number
  readonly rss: number
}

/** A server under load, whoever wrote it. */
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

  /** Of what its process said when it listened. */
  protected setAddress(url: string): void {
    const { hostname, port } = new URL(url)
    this.host = hostname
    this.port = Number(port)
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(this.url + path)
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as T
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as T
  }

  /** The value of a metric; 0 when it is not there. */
  async metric(name: string): Promise<number> {
    const response = await fetch(`${this.url}/metrics`)
    const line = (await response.text()).split('\n').find((each) => each.startsWith(`${name} `))
    return Number(line?.split(' ')[1] ?? 0)
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
      execArgv: [
        '--conditions=heddle-source',
        '--disable-warning=ExperimentalWarning',
        ...this.#execArgv,
      ],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child = child
    const ended = once(child, 'exit').then(() => {
      throw new Error('the server ended before it listened')
    })
    const [message] = (await Promise.race([once(child, 'message'), ended])) as [{ url: string }]
    ended.catch(() => undefined)
    this.setAddress(message.url)
    return this
  }

  async usage(): Promise<Usage> {
    const answered = once(this.#child!, 'message')
    this.#child!.send('usage')
    const [usage] = (await answered) as [Usage]
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
    child.disconnect()
    await ended
  }
}
