/** The same calls in FastAPI, on SQLite. */
import { fileURLToPath } from 'node:url'
import { startPythonServer, type PythonServer } from '../../servers/fastapi.ts'
import { LoadedServer, type Usage } from './server-process.ts'

const script = fileURLToPath(new URL('fastapi_fleet.py', import.meta.url))

export class FastApiServer extends LoadedServer {
  readonly #file: string
  #process: PythonServer | undefined

  /** @param store `sqlite:FILE` */
  constructor(store: string) {
    super()
    this.#file = store.slice('sqlite:'.length)
  }

  async start(): Promise<this> {
    this.#process = await startPythonServer(script, this.#file)
    this.setAddress(this.#process.url)
    return this
  }

  usage(): Promise<Usage> {
    return this.#process!.usage()
  }

  kill(): Promise<void> {
    return Promise.reject(new Error('the peer keeps its leases in memory: it is not killed'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]()
  }
}
