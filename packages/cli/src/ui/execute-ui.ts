/**
 * `heddle ui`: the dashboard of a journal, for reading runs and steering them as far as possible from outside.
 *
 *   starting ──▶ serving ── SIGINT, SIGTERM, SIGHUP ──▶ stopped ──▶ exit 0
 *      └── could not start ──▶ exit 2
 */
import { startServer, type Server } from '@heddle/server'
import { systemKernel } from '@heddle/core/lowlevel'
import { exitCodes } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { Printer } from '../output/printer.ts'
import { errorLines } from '../output/report-error.ts'
import { defaultJournal, makeDefaultFolder } from '../journal/open-journal.ts'
import { span } from '../text/line.ts'
import { findSite } from './find-site.ts'

export interface UiSettings {
  /** Undefined for the default. */
  readonly journal: string | undefined
  readonly host: string
  readonly port: number
  readonly json: boolean
  readonly color: boolean
}

/** Milliseconds that open pages have to read their last answer. */
const stopLimit = 1_000

/**
 * Serves the dashboard until a signal ends it.
 *
 * *Cancellation*: by signals, see above.
 */
export async function executeUi(settings: UiSettings): Promise<void> {
  const printer = new Printer(settings, systemKernel.clock)
  const stopped = Promise.withResolvers<void>()
  const onSignal = (): void => stopped.resolve()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal)
  let server: Server
  try {
    server = await openServer(settings)
  } catch (error) {
    printer.printErrorLines(errorLines(error))
    printer.answer({ type: 'failed', error: errorRecord(error) })
    await printer.flush()
    process.exit(exitCodes.usage)
  }
  const journal = settings.journal ?? defaultJournal
  const url = `${server.url}/ui/`
  printer.answer({ type: 'listening', url, journal })
  if (!printer.isForPrograms) {
    printer.printLines([
      [span('  dashboard  ', 'dim'), span(url, 'cyan')],
      [span('  journal    ', 'dim'), span(journal)],
      [span('  Ctrl+C ends it; runs continue.', 'dim')],
    ])
  }
  await stopped.promise
  await server.drain({ deadline: stopLimit })
  await printer.flush()
  process.exit(exitCodes.ok)
}

async function openServer({ journal, host, port }: UiSettings): Promise<Server> {
  if (journal === undefined) await makeDefaultFolder()
  const ui = await findSite()
  return startServer({ store: journal ?? defaultJournal, host, port, ui })
}
