/** `heddle analyze`: from the command line to an answer and an exit code. */
import { text as readAll } from 'node:stream/consumers'
import { analyze, compileLightly, count } from '@heddle/analyze'
import { HeddleError } from '@heddle/core'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { explanation, explanationRecord } from './explain.ts'
import { Session } from './session.ts'
import type { AnalyzeFlags } from './settings.ts'
import { Surface } from './surface.ts'

/**
 * Does what the command line says, and sets the exit code.
 *
 * *Cancellation*: by ending the process; nothing is changed but files that are written whole.
 */
export async function executeAnalyze(flags: AnalyzeFlags): Promise<void> {
  const surface = new Surface(flags)
  try {
    process.exitCode = await work(flags, surface)
  } catch (error) {
    surface.fail(error)
    // What is not ours is a fault of the analyzer, not of who called it.
    process.exitCode = error instanceof HeddleError ? exitCodes.usage : exitCodes.incomplete
  }
}

async function work(flags: AnalyzeFlags, surface: Surface): Promise<ExitCode> {
  if (flags.explain !== undefined) {
    if (flags.format === 'json')
      await surface.answer(`${JSON.stringify(explanationRecord(flags.explain))}\n`, [])
    else surface.print(explanation(flags.explain, surface.text))
    return exitCodes.ok
  }
  const stdin = flags.targets.includes('-') ? await readAll(process.stdin) : undefined
  const session = await Session.open(flags, surface, stdin)
  if (flags.watch) {
    const { watch } = await import('./watch.ts')
    return watch(session, surface)
  }
  // Nothing else happens in this process; whoever watches runs long enough for every compiler.
  compileLightly()
  const baseline = await session.baseline()
  const selection = await session.select()
  surface.progress(`analysing ${count(selection.files.length, 'file')} …`)
  const options = session.optionsFor(selection)
  if (flags.inventory)
    return session.answerInventory(await analyze({ ...options, keepsProgram: true }))
  return session.answer(await analyze(options), selection, baseline)
}
