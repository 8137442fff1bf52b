/**
 * `heddle work` from the settings to the exit code.
 *
 *   loading ──▶ working ── SIGINT, SIGTERM, SIGHUP ──▶ stopping ──▶ exit 0
 *      │           │                                     └── a second signal ──▶ exit 130, 143
 *      │           └── no work and --exit-when-idle ──▶ exit 0; refused ──▶ exit 2; other protocol ──▶ exit 4
 *      └── could not start ──▶ exit 2
 */
import { Worker, type WorkerEnd, type WorkerEvent } from '@heddle/worker'
import { systemKernel } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { Printer } from '../output/printer.ts'
import { errorLines } from '../output/report-error.ts'
import { loadModule } from '../run/load-module.ts'
import { span } from '../view/line.ts'

export interface WorkSettings {
  readonly server: string
  readonly token: string | undefined
  /** The module, from the current folder. */
  readonly jobs: string
  readonly name: string | undefined
  readonly concurrency: number | undefined
  readonly capabilities: readonly string[] | undefined
  readonly tags: readonly string[] | undefined
  readonly exitWhenIdle: boolean
  /** Milliseconds. */
  readonly stopDeadline: number
  readonly json: boolean
  readonly color: boolean
}

const signals = {
  SIGINT: exitCodes.cancelled,
  SIGTERM: exitCodes.terminated,
  SIGHUP: exitCodes.terminated,
} as const

/**
 * Works for a server until a signal ends it, and ends the process.
 *
 * *Cancellation*: by signals, see above.
 */
export async function executeWork(settings: WorkSettings): Promise<void> {
  const printer = new Printer(settings, systemKernel.clock)
  let worker: Worker
  try {
    const { server, token, name, concurrency, capabilities, tags, exitWhenIdle } = settings
    worker = new Worker({
      server,
      token,
      jobs: await loadModule(settings.jobs),
      name,
      concurrency,
      capabilities,
      tags,
      exitWhenIdle,
      onEvent: (event) => report(event, printer, settings),
    })
  } catch (error) {
    printer.complain(errorLines(error))
    printer.answer({ type: 'failed', error: errorRecord(error) })
    await printer.flush()
    process.exit(exitCodes.usage)
  }
  stopOnSignals(worker, settings, printer)
  const end = await worker.run()
  printer.answer({ type: 'ended', ok: end.exitCode === 0, why: end.why, message: end.message })
  if (end.exitCode === 0) say(printer, 'ended', end.message)
  else printer.complain([[span(`heddle: ${end.message}`, 'red')]])
  await printer.flush()
  process.exit(exitCodeOf(end))
}

function stopOnSignals(worker: Worker, { stopDeadline }: WorkSettings, printer: Printer): void {
  let isStopping = false
  for (const [signal, code] of Object.entries(signals)) {
    process.on(signal, () => {
      if (isStopping) process.exit(code)
      isStopping = true
      printer.answer({ type: 'stopping', by: signal })
      say(printer, 'stopping', `${signal}: what runs may finish, again to stop at once`)
      // run() reports the end; a stop that fails must not end the process with a stack.
      worker.stop({ deadline: stopDeadline }).catch((error: unknown) => {
        printer.complain(errorLines(error))
      })
    })
  }
}

function exitCodeOf({ why }: WorkerEnd): ExitCode {
  switch (why) {
    case 'stopped':
    case 'idle':
      return exitCodes.ok
    case 'refused':
      return exitCodes.usage
    case 'version':
      return exitCodes.outdated
  }
}

function report(event: WorkerEvent, printer: Printer, { server }: WorkSettings): void {
  const { kind, ...rest } = event
  printer.answer({ type: kind, at: systemKernel.clock.wallTime(), ...rest })
  switch (event.kind) {
    case 'connected':
      say(printer, 'connected', `to ${server} as ${event.worker}`)
      break
    case 'started':
      say(printer, 'started', `${event.job} (${event.lease})`)
      break
    case 'ended':
      say(printer, event.outcome, event.lease)
      break
    case 'idle':
      say(printer, 'idle', event.message)
      break
    case 'trouble':
      printer.complain([[span(`heddle: ${event.message}`, 'yellow')]])
      break
  }
}

/** For people only: programs read the JSON lines. */
function say(printer: Printer, word: string, text: string): void {
  if (!printer.isForPrograms) printer.tell([[span(`  ${word.padEnd(10)} `, 'dim'), span(text)]])
}
