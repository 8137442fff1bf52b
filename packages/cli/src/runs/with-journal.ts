/**
 * The common frame of every subcommand of `heddle runs`: opens the journal, most of them without writing to
 * it, and turns errors into an exit code.
 *
 * A reader takes no lock. It works while a run is written, and on the files of a killed process.
 */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, isError } from '@heddle/core'
import { openJournal, systemKernel, type Journal } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { shortenPaths } from '../output/gap.ts'
import { Output } from '../output/output.ts'
import { errorLines } from '../output/report-error.ts'
import { helpForUnreadable } from '../run/hints.ts'
import { defaultJournal } from '../journal/open-journal.ts'
import { chooseView } from '../terminal/capabilities.ts'
import { paint, type Line } from '../text/line.ts'
import { asciiSymbols, unicodeSymbols, type Symbols } from '../text/symbols.ts'
import { wrapAll } from '../text/wrap.ts'
import {
  asciiTimelineSymbols,
  unicodeTimelineSymbols,
  type TimelineSymbols,
} from './timeline/timeline-symbols.ts'

export interface JournalCommandSettings {
  /** Undefined for the default. */
  readonly journal: string | undefined
  readonly json: boolean
  readonly color: boolean
}

/** Where an answer goes, and how it may look. */
export interface Surface {
  readonly symbols: Symbols
  readonly timelineSymbols: TimelineSymbols
  /** Width of the terminal; undefined without one: then tables have their natural width. */
  readonly columns: number | undefined
  /** Wall time. */
  readonly now: number
  readonly json: boolean
  /** How to open the journal again, from the current folder. */
  readonly address: string
}

export interface JournalContext extends Surface {
  readonly journal: Journal
  /** Lines for people, wrapped where they are wider than `width`: that of the terminal when absent. */
  printLines(lines: readonly Line[], width?: number): void
  /** The one object for programs. */
  answer(object: object): void
  /** Prints the text unchanged. */
  print(text: string): void
}

/**
 * Opens the journal, lets `work` answer from it, and sets the exit code.
 *
 * *Cancellation*: none; it reads the current state.
 */
export async function withJournal(
  settings: JournalCommandSettings,
  work: (context: JournalContext) => Promise<ExitCode>,
  access: 'read' | 'write' = 'read',
): Promise<void> {
  const { stdout, stderr } = process
  const surroundings = { env: process.env, platform: process.platform, isTerminal: stdout.isTTY }
  const { color, unicode } = chooseView(surroundings, settings)
  const symbols = unicode ? unicodeSymbols : asciiSymbols
  const columns = stdout.isTTY ? stdout.columns : undefined
  const out = new Output(stdout)
  try {
    await using journal = await openExisting(settings.journal ?? defaultJournal, access === 'read')
    process.exitCode = await work({
      journal,
      symbols,
      timelineSymbols: unicode ? unicodeTimelineSymbols : asciiTimelineSymbols,
      columns,
      now: systemKernel.clock.wallTime(),
      json: settings.json,
      address: shortenPaths(journal.address),
      printLines: (lines, width = columns) => {
        for (const line of wrapAll(lines, width)) out.line(paint(line, color))
      },
      answer: (object) => out.line(JSON.stringify(object)),
      print: (text) => out.write(text),
    })
  } catch (error) {
    const err = new Output(stderr)
    const width = stderr.isTTY ? stderr.columns : undefined
    for (const line of wrapAll(errorLines(error, '', helpFor(error)), width)) {
      err.line(paint(line, color && stderr.isTTY))
    }
    if (settings.json) out.line(JSON.stringify({ ok: false, error: errorRecord(error) }))
    process.exitCode = exitCodes.usage
  }
}

/** What to type, where the help of an error speaks of code. */
function helpFor(error: unknown): string | undefined {
  if (!isError(error, 'HDL_UNKNOWN_NODE')) return helpForUnreadable(error)
  return 'List the nodes of the run with `heddle runs show RUN --all`.'
}

async function openExisting(address: string, readOnly: boolean): Promise<Journal> {
  const [, file] = /^sqlite:(.+)$/.exec(address) ?? []
  if (file !== undefined) {
    await stat(path.resolve(file)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') throw new HeddleError('HDL_NO_JOURNAL', { path: file })
    })
  }
  return openJournal(address, { readOnly })
}
