/** Opens the people of a store, lets `work` answer, and sets the exit code. */
import { openPeople, type People } from '@heddle/server'
import { exitCodes } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { Output } from '../output/output.ts'
import { errorLines } from '../output/report-error.ts'
import { makeDefaultFolder } from '../journal/open-journal.ts'
import { defaults } from '../serve/serve-settings.ts'
import { paint } from '../text/line.ts'

export interface PeopleSettings {
  /** Undefined for the default of `heddle serve`. */
  readonly store: string | undefined
  readonly json: boolean
}

export interface PeopleContext {
  readonly people: People
  readonly json: boolean
  /** A line for people. */
  readonly line: (text: string) => void
  /** The one object for programs. */
  readonly answer: (object: object) => void
}

/** *Cancellation*: none; it reads and writes a few records. */
export async function withPeople(
  settings: PeopleSettings,
  work: (context: PeopleContext) => Promise<void>,
): Promise<void> {
  const out = new Output(process.stdout)
  try {
    if (settings.store === undefined) await makeDefaultFolder()
    const store = settings.store ?? defaults.store
    await using opened = await openPeople(store)
    await work({
      people: opened.people,
      json: settings.json,
      line: (text) => {
        if (!settings.json) out.line(text)
      },
      answer: (object) => {
        if (settings.json) out.line(JSON.stringify({ ok: true, ...object }))
      },
    })
  } catch (error) {
    const err = new Output(process.stderr)
    for (const line of errorLines(error)) err.line(paint(line, false))
    if (settings.json) out.line(JSON.stringify({ ok: false, error: errorRecord(error) }))
    process.exitCode = exitCodes.usage
  }
}

/** The author of changes that come from the command line. */
export const commandLine = { by: 'command line', address: 'local' } as const
