/**
 * `heddle serve` from the settings to the exit code.
 *
 *   loading ──▶ serving ── SIGTERM, SIGINT, SIGHUP, POST /drain ─▶ draining ──▶ stopped ──▶ exit 0 or 1
 *      │           │                                                  └── a second signal ──▶ exit 130, 143
 *      └── could not start ──▶ exit 2
 *
 * Invariants, quoted by the tests:
 *  V1  Who waits is answered before the process ends, unless a third signal ends it at once.
 *  V2  What was acknowledged is in the store, however the process ends.
 *  V3  A signal before the server listens ends the process: there is nothing to finish.
 */
import { HeddleError, isError } from '@heddle/core'
import { systemKernel, withoutPasswords } from '@heddle/core/lowlevel'
import { startServer, type DrainOptions, type Server } from '@heddle/server'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { Printer } from '../output/printer.ts'
import { makeDefaultFolder } from '../journal/open-journal.ts'
import { checkModuleOptions } from '../user-code/load-graph.ts'
import { loadModule } from '../user-code/load-module.ts'
import { findSite } from '../ui/find-site.ts'
import { Narrator } from './narrator.ts'
import { defaults, type ServeSettings } from './serve-settings.ts'

const signals = {
  SIGINT: exitCodes.cancelled,
  SIGTERM: exitCodes.terminated,
  SIGHUP: exitCodes.terminated,
} as const

type StopSignal = keyof typeof signals

/** Milliseconds that stopping at once may take: waiters are notified and the journal is closed. */
const hurryLimit = 2_000
/** Milliseconds that a reader has to take the last lines. */
const flushLimit = 2_000

/**
 * Serves jobs until it is stopped, and ends the process.
 *
 * *Cancellation*: by signals, see above.
 */
export async function executeServe(settings: ServeSettings): Promise<void> {
  await new ServeSession(settings).execute()
}

class ServeSession {
  readonly #settings: ServeSettings
  readonly #clock = systemKernel.clock
  readonly #printer: Printer
  readonly #narrator: Narrator
  #server: Server | undefined
  #isLoading = true
  /** Signals so far, and the name of the last of them. */
  #signals = 0
  #by = 'POST /drain'
  #code: ExitCode | undefined

  constructor(settings: ServeSettings) {
    this.#settings = settings
    this.#printer = new Printer(settings, this.#clock)
    this.#narrator = new Narrator(this.#printer, this.#clock)
    for (const signal of Object.keys(signals) as StopSignal[]) {
      process.on(signal, () => this.#onSignal(signal))
    }
    process.on('exit', this.#onExit)
    process.on('beforeExit', this.#onIdle)
    process.on('uncaughtException', this.#onCrash)
  }

  async execute(): Promise<void> {
    let server: Server
    try {
      server = await this.#start()
    } catch (error) {
      return this.#abandon(error)
    }
    try {
      const drained = await server.stopped
      this.#narrator.stopped(drained, this.#store !== 'memory')
      await this.#exit(this.#code ?? (drained.isClean ? exitCodes.ok : exitCodes.failed))
    } catch (error) {
      // The store could not be closed: it holds everything acknowledged.
      this.#narrator.failed(error, undefined)
      await this.#exit(exitCodes.failed)
    }
  }

  get #store(): string {
    return this.#settings.store ?? defaults.store
  }

  async #start(): Promise<Server> {
    const { jobs: file, json: _json, color: _color, ...options } = this.#settings
    const jobs = await loadModule(file)
    const { concurrency, resources } = checkModuleOptions(file, jobs['options'])
    // A number over all places would let waiting on the loop hold up threads: a server limits each place.
    const { loop, thread } = typeof concurrency === 'object' ? concurrency : {}
    if (options.store === undefined) await makeDefaultFolder()
    const server = await startServer({
      ...options,
      jobs,
      threads: options.threads ?? thread,
      store: this.#store,
      ui: await findSite(),
      limits: {
        loop,
        ...options.limits,
        // Limits of the module, with those of the server added or taking precedence.
        resources: { ...resources, ...options.limits.resources },
      },
      onLog: (line) => this.#narrator.log(line),
      onDrain: (deadline) => this.#narrator.draining(this.#by, deadline, this.#server!.stats()),
    })
    this.#server = server
    this.#isLoading = false
    // The address of a database may hold a password.
    this.#narrator.listening(server, withoutPasswords(this.#store))
    if (server.isOpen) {
      const text = 'There are no users: everyone on this machine may do everything.'
      this.#narrator.log({ level: 'info', text })
    }
    return server
  }

  #onSignal(signal: StopSignal): void {
    const code = signals[signal]
    this.#signals++
    this.#by = signal
    if (this.#server === undefined || this.#signals > 2) process.exit(code)
    if (this.#signals === 1) this.#drain(this.#server)
    else this.#hurry(signal, code)
  }

  /** Waiting callers are notified, the journal is closed, and if that does not end, the process does. */
  #hurry(by: string, code: ExitCode, isCrash = false): void {
    this.#code = code
    this.#narrator.hurrying(by)
    if (this.#server !== undefined) this.#drain(this.#server, { deadline: 0, isCrash })
    this.#clock.setTimer(hurryLimit, () => process.exit(code))
  }

  /** `server.stopped`, which execute() waits for, rejects with the same error. */
  #drain(server: Server, options?: DrainOptions): void {
    server.drain(options).catch(() => undefined)
  }

  /** The server could not start. */
  async #abandon(error: unknown): Promise<void> {
    this.#isLoading = false
    this.#narrator.failed(error, hintFor(error))
    await this.#exit(exitCodes.usage)
  }

  async #exit(code: number): Promise<void> {
    process.exitCode = code
    const timer = this.#clock.setTimer(flushLimit, () => process.exit())
    await this.#printer.flush()
    timer.cancel()
    process.exit()
  }

  readonly #onExit = (code: number): void => {
    if (this.#isLoading && this.#signals === 0) {
      this.#isLoading = false
      process.exitCode = exitCodes.usage
      this.#narrator.failed(
        this.#notLoaded(`it ended the process (process.exit) with code ${code}`),
        undefined,
      )
    }
    this.#printer.drain()
  }

  /** Nothing in this process could continue any more: a listening server always could. */
  readonly #onIdle = (): void => {
    if (!this.#isLoading) return
    const waits = 'its top level waits, and nothing is left on the event loop'
    // oxlint-disable-next-line typescript/no-floating-promises -- it ends the process
    this.#abandon(this.#notLoaded(waits))
  }

  readonly #onCrash = (error: unknown): void => {
    process.off('uncaughtException', this.#onCrash)
    if (this.#isLoading) {
      // oxlint-disable-next-line typescript/no-floating-promises -- it ends the process
      this.#abandon(error)
      return
    }
    this.#narrator.crashed(error)
    this.#by = 'uncaught error'
    // Whatever it was, it would do it again after each start.
    this.#hurry(this.#by, exitCodes.failed, true)
  }

  #notLoaded(cause: string): HeddleError {
    return new HeddleError('HDL_LOAD_FAILED', {
      file: this.#settings.jobs,
      action: 'be loaded',
      cause,
    })
  }
}

/** What to type about an error: its own help is for programs too, and knows no command line. */
function hintFor(error: unknown): string | undefined {
  if (isError(error, 'HDL_LOCKED')) {
    return 'A file has one server. Use another file, or let servers share a PostgreSQL: --store postgres://HOST/DATABASE.'
  }
  if (isError(error, 'HDL_NO_MODULE')) return 'Name the module with the jobs: --jobs FILE.'
  if (isError(error, 'HDL_CANNOT_LISTEN')) return 'To take another port: --port N.'
  return undefined
}
