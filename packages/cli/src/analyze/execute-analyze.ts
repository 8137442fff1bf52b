/** `heddle analyze`: from the command line to an answer and an exit code. */
import { text as readAll } from 'node:stream/consumers'
import { analyze, count } from '@heddle/analyze'
import { HeddleError } from '@heddle/core'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { explanation, explanationRecord } from './explain.ts'
import { Session } from './session.ts'
import type { AnalyzeFlags } from './analyze-settings.ts'
import { Surface } from './surface.ts'

/**
 * Runs the command line, and sets the exit code.
 *
 * *Cancellation*: by ending the process; only files that are written as a whole are changed.
 */
export async function executeAnalyze(flags: AnalyzeFlags): Promise<void> {
  const surface = new Surface(flags)
  try {
    process.exitCode = await work(flags, surface)
  } catch (error) {
    surface.fail(error)
    const isTheirs = error instanceof HeddleError && !faultsOfOurs.has(error.code)
    process.exitCode = isTheirs ? exitCodes.usage : exitCodes.incomplete
  }
}

/** Faults of the analyzer, not of its caller. Every error that is not ours counts as one. */
const faultsOfOurs: ReadonlySet<string> = new Set([
  'HDL_THREAD_CRASHED',
  'HDL_THREAD_IMPORT',
  'HDL_UNRESPONSIVE',
])

async function work(flags: AnalyzeFlags, surface: Surface): Promise<ExitCode> {
  if (flags.explain !== undefined) {
    if (flags.format === 'json')
      await surface.answer(`${JSON.stringify(explanationRecord(flags.explain))}\n`, [])
    else surface.print(explanation(flags.explain, surface.text))
    return exitCodes.ok
  }
  if (flags.lsp) {
    const { serveLsp } = await import('./lsp.ts')
    return serveLsp(await Session.open(flags, surface, undefined))
  }
  const stdin = flags.targets.includes('-') ? await readAll(process.stdin) : undefined
  const session = await Session.open(flags, surface, stdin)
  if (flags.watch) {
    const { watch } = await import('./watch.ts')
    return watch(session, surface)
  }
  const baseline = await session.baseline()
  const selection = await session.select()
  surface.progress(`analysing ${count(selection.files.length, 'file')} …`)
  const options = session.optionsFor(selection)
  if (flags.inventory)
    return session.answerInventory(await analyze({ ...options, keepsProgram: true }))
  // Equal findings are numbered in the order of all files, and a baseline knows them by their numbers.
  const isNumbered = baseline !== undefined || flags.writeBaseline
  const wanted = isNumbered ? undefined : selection.wanted
  const analysis = await analyze({ ...options, wanted, ownsProcess: true })
  return session.answer(analysis, selection, baseline)
}
