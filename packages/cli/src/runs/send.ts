/** `heddle runs send`: sends a signal to a run. */
import os from 'node:os'
import { HeddleError } from '@heddle/core'
import { outcomeOf } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { span } from '../text/line.ts'
import { printable } from '../text/terminal-text.ts'
import { findNamedRun } from '../journal/find-named-run.ts'
import { endOf } from './outcome-text.ts'
import { withJournal, type JournalCommandSettings } from './with-journal.ts'
import { listNames, signalsOf } from './waits.ts'

export interface SendSettings extends JournalCommandSettings {
  readonly run: string
  readonly name: string
  /** JSON, or else a text. */
  readonly value: string | undefined
}

/** *Cancellation*: none; it writes one message. */
export function sendSignal(settings: SendSettings): Promise<void> {
  return withJournal(
    settings,
    async (surface): Promise<ExitCode> => {
      const { journal, json, address } = surface
      const { name } = settings
      const value = parseValue(settings.value)
      if (journal.post === undefined) {
        const expected = 'a journal that takes messages: sqlite:FILE or postgres://HOST/DATABASE'
        throw new HeddleError('HDL_BAD_OPTION', { option: 'journal', value: address, expected })
      }
      const run = await findNamedRun(journal, settings.run)
      const { id } = run
      if (run.state === 'finished' || run.state === 'cancelled') {
        const text = `Run ${id} takes no signals any more: it ${endOf(outcomeOf(run))}.`
        if (json) surface.answer({ ok: false, run: id, state: run.state })
        else surface.printLines([[span(text)]])
        return exitCodes.failed
      }
      // Looked at before: a job may take the signal as soon as it is sent.
      const awaited = json ? [] : signalsOf((await journal.snapshot(id)).nodes)
      const by = `heddle runs send (pid ${process.pid} on ${os.hostname()})`
      await journal.post(id, { kind: 'signal', name, value, by })
      if (json) surface.answer({ ok: true, run: id, signal: name, state: run.state })
      else {
        const when =
          run.state === 'interrupted'
            ? 'it is delivered when the run is resumed'
            : 'a job that waits for it continues within a second'
        surface.printLines([[span(`Sent the signal "${printable(name)}" to run ${id}: ${when}.`)]])
        if (awaited.length > 0 && !awaited.includes(name)) {
          const others = listNames(awaited)
          surface.printLines([
            [span(`No job waits for it yet, so it is kept. The run waits for ${others}.`)],
          ])
        }
      }
      return exitCodes.ok
    },
    'write',
  )
}

/**
 * A value that is not JSON is a text, so that `heddle runs send last approval yes` needs no quotes. A value that begins
 * like an object, a list or a string was meant as JSON: delivered as a text, a misspelt approval would be used up by
 * the job that waits for it.
 * @throws `HDL_BAD_OPTION`.
 */
export function parseValue(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    if (!/^\s*[{["]/.test(text)) return text
    const reason = (error as Error).message
    const expected = `JSON (${reason}), or a text that does not begin with {, [ or "`
    throw new HeddleError('HDL_BAD_OPTION', { option: 'value', value: text, expected })
  }
}
