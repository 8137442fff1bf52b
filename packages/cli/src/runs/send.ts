/** `heddle runs send`: sends a signal to a run. */
import os from 'node:os'
import { HeddleError } from '@heddle/core'
import { outcomeOf } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { span } from '../view/line.ts'
import { printable } from '../view/text.ts'
import { findRun } from './find-run.ts'
import { look, type LookSettings } from './look.ts'
import { listNames, signalsOf } from './waits.ts'

export interface SendSettings extends LookSettings {
  readonly run: string
  readonly name: string
  /** JSON, or else a text. */
  readonly value: string | undefined
}

/** *Cancellation*: none; it writes one message. */
export function sendSignal(settings: SendSettings): Promise<void> {
  return look(
    settings,
    async (surface): Promise<ExitCode> => {
      const { journal, json, address } = surface
      const { name } = settings
      if (journal.post === undefined) {
        const expected = 'a journal that takes messages: sqlite:FILE or postgres://HOST/DATABASE'
        throw new HeddleError('HDL_BAD_OPTION', { option: 'journal', value: address, expected })
      }
      const run = await findRun(journal, settings.run)
      const { id } = run
      if (run.state === 'finished' || run.state === 'cancelled') {
        const outcome = outcomeOf(run)
        const ended = `${outcome === 'cancelled' ? 'was' : 'has'} ${outcome}`
        const text = `Run ${id} takes no signals any more: it ${ended}.`
        if (json) surface.answer({ ok: false, run: id, state: run.state })
        else surface.tell([[span(text)]])
        return exitCodes.failed
      }
      const value = parseValue(settings.value)
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
        surface.tell([[span(`Sent the signal "${printable(name)}" to run ${id}: ${when}.`)]])
        if (awaited.length > 0 && !awaited.includes(name)) {
          const others = listNames(awaited)
          surface.tell([
            [span(`No job waits for it yet, so it is kept. The run waits for ${others}.`)],
          ])
        }
      }
      return exitCodes.ok
    },
    'write',
  )
}

/** What is not JSON is a text, so that `heddle runs send last approval yes` needs no quotes. */
function parseValue(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
