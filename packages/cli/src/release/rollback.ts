import { holdLock } from '@heddle/core/lowlevel'
import {
  applyRollback,
  describeStep,
  planRollback,
  readReleases,
  releaseFolder,
  type RollbackOptions,
  type ReleaseFolder,
  type RollbackPlan,
  type RollbackStep,
} from '@heddle/release'
import type { Typed } from './release-flags.ts'
import type { RollbackFlags } from './flag-types.ts'
import { exitCodes } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { errorLines } from '../output/report-error.ts'
import { plural } from '../text/format.ts'
import { span } from '../text/line.ts'
import { printable } from '../text/terminal-text.ts'
import { answering } from './answering.ts'
import { registriesFor } from './plan-source.ts'

/** Reverts the recorded actions of a release: the given id, or the only release there is. */
export async function rollback(
  release: string | undefined,
  typed: Typed<RollbackFlags>,
): Promise<void> {
  await answering(typed, async ({ flags, printLines, result, settings: read }) => {
    const say = (text: string): void => printLines([[span(printable(text))]])
    const settings = await read()
    const { root } = settings.workspace
    await using registries = await registriesFor(settings, flags)
    const options: RollbackOptions = {
      registryAt: registries.registryAt,
      ...(release !== undefined && { release }),
      ...(flags.include !== undefined && { include: flags.include }),
      ...(flags.exclude !== undefined && { exclude: flags.exclude }),
      ...(flags.message !== undefined && { message: flags.message }),
    }
    const folder = await releaseFolder(root)
    const isMeant = flags.yes === true
    const command = 'heddle release rollback'
    await using _lock = isMeant ? await holdLock(folder.lock, { command }) : undefined
    const todo = await stepsOf(folder, options)
    if (todo.run !== undefined) say(`release ${todo.run}`)
    for (const remark of todo.remarks) say(remark)
    if (todo.steps.length === 0) say('There is nothing left to roll back.')
    else if (!isMeant) {
      for (const step of todo.steps) say(`would ${describeStep(step)}`)
      say('Nothing has been changed. Add --yes to roll back.')
    } else {
      const onStep = (step: RollbackStep): void => say(describeStep(step))
      try {
        await applyRollback(todo, { ...options, onStep })
      } catch (error) {
        printLines(errorLines(error))
        say('Run the same command again for the remaining steps.')
        result({ ok: false, done: false, ...todo, error: errorRecord(error) })
        return exitCodes.failed
      }
      say(`${plural(todo.steps.length, 'step')} done`)
    }
    result({ ok: true, done: isMeant, ...todo })
    return exitCodes.ok
  })
}

async function stepsOf(folder: ReleaseFolder, options: RollbackOptions): Promise<RollbackPlan> {
  await using journal = await readReleases(folder)
  // Awaited here: the journal is closed behind it.
  return await planRollback(journal, options)
}
