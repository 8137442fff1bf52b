/**
 * `heddle work` from the settings to the exit code.
 *
 *   loading ──▶ working ── SIGINT, SIGTERM, SIGHUP ──▶ stopping ──▶ exit 0
 *      │           │                                     └── a second signal ──▶ exit 130, 143
 *      │           └── no work and --exit-when-idle ──▶ exit 0; its network thread died ──▶ exit 1; refused ──▶ exit 3;
 *      │               other protocol ──▶ exit 4
 *      └── could not start: settings, module, or another worker in this folder ──▶ exit 2
 */
import path from 'node:path'
import { isError } from '@heddle/core'
import { Worker, type WorkerConcurrency, type WorkerEnd, type WorkerEvent } from '@heddle/worker'
import { holdLock, systemKernel } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { Printer } from '../output/printer.ts'
import { errorLines } from '../output/report-error.ts'
import { loadModule } from '../user-code/load-module.ts'
import { Screen, painted } from '../terminal/screen.ts'
import { fit, paint, span, textOf } from '../text/line.ts'
import { WorkView } from './worker-view.ts'

export interface WorkSettings {
  readonly server: string
  readonly token: string | undefined
  /** The module, from the current folder. */
  readonly jobs: string
  readonly name: string | undefined
  readonly concurrency: WorkerConcurrency | undefined
  readonly capabilities: readonly string[] | undefined
  readonly tags: readonly string[] | undefined
  /** One worker at a time works in it. */
  readonly folder: string
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
  const view = new WorkView(settings.server)
  let worker: Worker
  try {
    const { server, token, name, concurrency, capabilities, tags, exitWhenIdle } = settings
    // Held until the process ends.
    const lock = path.join(settings.folder, '.heddle', 'worker.lock')
    await holdLock(lock, { command: 'heddle work' })
    worker = new Worker({
      server,
      token,
      jobs: await loadModule(settings.jobs),
      name,
      concurrency,
      capabilities,
      tags,
      exitWhenIdle,
      watchdog: lostJobGrace,
      onEvent: (event) => {
        view.see(event, systemKernel.clock.now())
        report(event, printer, settings)
      },
    })
  } catch (error) {
    printer.printErrorLines(
      errorLines(error, '', isError(error, 'HDL_LOCKED') ? lockedHelp : undefined),
    )
    printer.answer({ type: 'failed', error: errorRecord(error) })
    await printer.flush()
    process.exit(exitCodes.usage)
  }
  stopOnSignals(worker, settings, printer)
  const screen = printer.isLive ? show(view, worker, settings) : undefined
  const end = await worker.run()
  screen?.hide()
  printer.answer({ type: 'ended', ok: end.exitCode === 0, why: end.why, message: end.message })
  if (end.exitCode === 0) say(printer, 'ended', end.message)
  else printer.printErrorLines([[span(`heddle: ${end.message}`, 'red')]])
  await printer.flush()
  process.exit(exitCodeOf(end))
}

const lockedHelp =
  'One worker works in a folder at a time: start this one with --folder NAME, or the other one with a higher --concurrency.'

/** Milliseconds for a job to stop after its lease was lost; then the process is ended, for its supervisor to start again. */
const lostJobGrace = 120_000

/** Draws the view once a second. */
function show(view: WorkView, worker: Worker, { color }: WorkSettings): Screen {
  const screen = new Screen(process.stdout)
  const draw = (): void => {
    const lines = view.lines(systemKernel.clock.now(), worker.stats())
    screen.draw(
      lines.map((line) => {
        const fitted = fit(line, screen.columns, '…')
        return painted(paint(fitted, color), textOf(fitted))
      }),
    )
  }
  draw()
  // The process ends with the worker.
  const again = (): void => {
    systemKernel.clock.setTimer(1_000, () => {
      if (screen.isShown) draw()
      again()
    })
  }
  again()
  return screen
}

function stopOnSignals(worker: Worker, { stopDeadline }: WorkSettings, printer: Printer): void {
  let isStopping = false
  for (const [signal, code] of Object.entries(signals)) {
    process.on(signal, () => {
      if (isStopping) process.exit(code)
      isStopping = true
      printer.answer({ type: 'stopping', by: signal })
      say(printer, 'stopping', `${signal}: running jobs may finish; send it again to stop at once`)
      // run() reports the end; a stop that fails must not end the process with a stack.
      worker.stop({ deadline: stopDeadline }).catch((error: unknown) => {
        printer.printErrorLines(errorLines(error))
      })
    })
  }
}

function exitCodeOf({ why }: WorkerEnd): ExitCode {
  switch (why) {
    case 'stopped':
    case 'idle':
      return exitCodes.ok
    case 'broken':
      return exitCodes.failed
    case 'refused':
      return exitCodes.refused
    case 'version':
      return exitCodes.outdated
  }
}

function report(event: WorkerEvent, printer: Printer, { server }: WorkSettings): void {
  const { kind, ...rest } = event
  printer.answer({ type: kind, at: systemKernel.clock.wallTime(), ...rest })
  switch (event.kind) {
    case 'connected':
      say(printer, 'connected', `to ${server} as ${event.name}`)
      break
    case 'started':
      say(printer, 'started', `${event.job} (${event.lease})`)
      break
    case 'ended':
      say(printer, event.outcome, `${event.job} (${event.lease})`)
      break
    case 'idle':
      say(printer, 'idle', event.message)
      break
    case 'reported':
      break
    case 'trouble':
      if (printer.isLive) break
      printer.printErrorLines([[span(`heddle: ${event.message}`, 'yellow')]])
      break
  }
}

/** For people only: programs read the JSON lines. */
function say(printer: Printer, word: string, text: string): void {
  if (!printer.isForPrograms && !printer.isLive)
    printer.printLines([[span(`  ${word.padEnd(10)} `, 'dim'), span(text)]])
}
