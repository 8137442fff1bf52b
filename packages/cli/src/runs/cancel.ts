/** `heddle runs cancel`: asks the process that runs a run to cancel it. */
import { isHeld, outcomeOf } from '@heddle/core/lowlevel'
import os from 'node:os'
import { HeddleError } from '@heddle/core'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { span } from '../text/line.ts'
import { findNamedRun } from '../journal/find-named-run.ts'
import { endOf } from './outcome-text.ts'
import { withJournal, type JournalCommandSettings } from './with-journal.ts'

export interface CancelSettings extends JournalCommandSettings {
  readonly run: string
}

/** *Cancellation*: none; it writes one message. */
export function cancelRun(settings: CancelSettings): Promise<void> {
  return withJournal(
    settings,
    async (surface): Promise<ExitCode> => {
      const { journal, json, address } = surface
      if (journal.post === undefined) {
        const expected = 'a journal that takes messages: sqlite:FILE or postgres://HOST/DATABASE'
        throw new HeddleError('HDL_BAD_OPTION', { option: 'journal', value: address, expected })
      }
      const run = await findNamedRun(journal, settings.run)
      const { id, pid, host } = run
      if (!isHeld(run.state)) {
        const text = `Run ${id} is not running: it ${endOf(outcomeOf(run))}.`
        if (json) surface.answer({ ok: false, run: id, state: run.state })
        else surface.printLines([[span(text)]])
        return exitCodes.failed
      }
      await journal.post(id, {
        kind: 'cancel',
        by: `heddle runs cancel (pid ${process.pid} on ${os.hostname()})`,
      })
      if (json) surface.answer({ ok: true, run: id, pid, host })
      else
        surface.printLines([
          [span(`Asked pid ${pid} on ${host} to cancel run ${id}: it does so within a second.`)],
        ])
      return exitCodes.ok
    },
    'write',
  )
}
