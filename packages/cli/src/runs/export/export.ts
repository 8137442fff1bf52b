/** `heddle runs export`: a recorded run as a test. */
import { writeFile } from 'node:fs/promises'
import { HeddleError } from '@heddle/core'
import { quoteWord, testOf } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../../exit-codes.ts'
import { readVersion } from '../../own-version.ts'
import { span } from '../../text/line.ts'
import { plural } from '../../text/format.ts'
import { findNamedRun } from '../../journal/find-named-run.ts'
import { withJournal, type JournalCommandSettings } from '../with-journal.ts'

export interface ExportSettings extends JournalCommandSettings {
  readonly run: string
  /** Undefined: to standard output. */
  readonly out: string | undefined
  /** Overwrites a file that is there. */
  readonly force: boolean
}

/** *Cancellation*: none; it reads the current state. */
export function exportRun(settings: ExportSettings): Promise<void> {
  return withJournal(settings, async (surface): Promise<ExitCode> => {
    const { journal, address } = surface
    const { out } = settings
    const { id } = await findNamedRun(journal, settings.run)
    const { source, kind, nodes, attempts } = await testOf(journal, id, {
      address,
      by: `heddle runs export ${id} (heddle ${await readVersion()})`,
      plain: out !== undefined && /\.[cm]?js$/.test(out),
    })
    if (out === undefined) {
      if (surface.json) surface.answer({ ok: true, run: id, kind, source })
      else surface.print(source)
      return exitCodes.ok
    }
    await write(out, source, settings.force)
    if (surface.json) {
      surface.answer({ ok: true, run: id, kind, file: out })
    } else {
      const what = `${out}: ${plural(nodes, 'job')}, ${plural(attempts, 'attempt')}`
      surface.printLines([
        [span(what)],
        [span(`Run it with: node --test ${quoteWord(out)}`, 'dim')],
      ])
    }
    return exitCodes.ok
  })
}

async function write(file: string, source: string, force: boolean): Promise<void> {
  try {
    await writeFile(file, source, { flag: force ? 'w' : 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      const expected = 'a file that is not there yet, or --force'
      throw new HeddleError('HDL_BAD_OPTION', { option: 'out', value: file, expected })
    }
    const { message } = error as Error
    throw new HeddleError('HDL_STORE_FAILED', { store: file, action: 'be written', cause: message })
  }
}
