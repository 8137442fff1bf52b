import { openJournal } from '@heddle/core/lowlevel'
import {
  applyRollback,
  describeStep,
  planRollback,
  releaseFolder,
  type ReleasePlan,
  type RollbackOptions,
  type RollbackPlan,
  type RollbackStep,
} from '@heddle/release'
import type { RollbackFlags } from '../commands/release.ts'
import { exitCodes } from '../exit-codes.ts'
import { plural } from '../view/format.ts'
import { span } from '../view/line.ts'
import { printable } from '../view/text.ts'
import { answering } from './answering.ts'
import { readPlan, registriesFor } from './plan-source.ts'

export async function rollback(flags: RollbackFlags): Promise<void> {
  await answering(flags, async ({ tell, result }) => {
    const say = (text: string): void => tell([[span(printable(text))]])
    const plan = await readPlan(flags)
    await using registries = await registriesFor(plan, flags)
    const options = {
      registryOf: registries.registryOf,
      ...(flags.message !== undefined && { message: flags.message }),
    }
    const todo = await stepsOf(plan, options)
    for (const remark of todo.remarks) say(remark)
    if (flags.yes === true) {
      const onStep = (step: RollbackStep): void => say(describeStep(step))
      await applyRollback(todo, plan, { ...options, onStep })
      say(`${plural(todo.steps.length, 'step')} done`)
    } else {
      for (const step of todo.steps) say(`would do  ${describeStep(step)}`)
      say(
        todo.steps.length > 0
          ? 'Nothing has been changed. Add --yes to do it.'
          : 'Nothing is left to take back.',
      )
    }
    result({ ok: true, done: flags.yes === true, ...todo })
    return exitCodes.ok
  })
}

async function stepsOf(plan: ReleasePlan, options: RollbackOptions): Promise<RollbackPlan> {
  const folder = await releaseFolder(plan.workspace.root)
  await using journal = await openJournal(`sqlite:${folder.journal}`, { readOnly: true })
  // Awaited here: the journal is closed behind it.
  return await planRollback(journal, plan, options)
}
