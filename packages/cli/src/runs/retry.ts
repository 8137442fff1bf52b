/** `heddle runs retry`: runs again what did not succeed in a run, or, in a new run, everything from a node on. */
import { HeddleError } from '@heddle/core'
import type { RunModule, RunSnapshot } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { executeRun } from '../run/execute-run.ts'
import { runWords } from '../run/resume-command.ts'
import { titleOf, type RunSettings } from '../run/run-settings.ts'
import { findNamedRun } from '../journal/find-named-run.ts'
import { withJournal, type JournalCommandSettings } from './with-journal.ts'

export interface RetrySettings extends JournalCommandSettings {
  readonly run: string
  readonly from: string | undefined
  /** The module, where it is not the one that the run says. */
  readonly file: string | undefined
  /** For the function that the module exports; those of the run when there are none. */
  readonly args: readonly string[]
  readonly allowChanges: boolean
  readonly quiet: boolean
}

/** *Cancellation*: as `heddle run`. */
export async function retryRun(settings: RetrySettings): Promise<void> {
  let found: RunSettings | undefined
  await withJournal(settings, async ({ journal }): Promise<ExitCode> => {
    const { id } = await findNamedRun(journal, settings.run)
    found = runSettings(await journal.snapshot(id), settings)
    return exitCodes.ok
  })
  if (found === undefined) return
  // The journal keeps the command that the run can be started with again.
  const { args } = found
  process.argv.splice(2, Infinity, ...runWords(found), ...(args.length > 0 ? ['--', ...args] : []))
  await executeRun(found)
}

/** The settings with which `heddle run` retries a run. The limits are those of the first start. */
export function runSettings(run: RunSnapshot, settings: RetrySettings): RunSettings {
  const { journal, json, color, quiet, from, allowChanges } = settings
  const { concurrency, retries, timeout } = run.options
  const { count, memory } = (run.options['threads'] ?? {}) as Partial<Record<string, unknown>>
  return {
    ...findModule(run, settings),
    title: run.title,
    concurrency: numberOf(concurrency),
    retries: numberOf(retries),
    timeout: numberOf(timeout),
    journal,
    only: onlyOf(run),
    key: undefined,
    resume: run.id,
    from,
    threads: numberOf(count),
    threadMemory: numberOf(memory),
    journalRetry: undefined,
    ui: undefined,
    allowChanges,
    json,
    quiet,
    color,
    retried: { file: settings.file, args: settings.args },
  }
}

/** A run of some nodes is retried with these. */
function onlyOf({ command, nodes, options }: RunSnapshot): readonly string[] | undefined {
  const { only } = options
  if (Array.isArray(only)) return only.map(String)
  // An earlier version has recorded it in the command only.
  if (!/ --only[ =]/.test(command)) return undefined
  return nodes.flatMap(({ name, parent }) => (parent === undefined ? [name] : []))
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/**
 * The module of the run and its arguments, where neither was typed.
 * @throws `HDL_BAD_OPTION` when the journal does not have them: nothing is guessed.
 */
function findModule(
  run: RunSnapshot,
  typed: Pick<RetrySettings, 'file' | 'args'>,
): Pick<RunSettings, 'file' | 'args'> {
  const { id, command } = run
  const { file: found, args: known } = recordedModule(run)
  const file = typed.file ?? found
  if (file === undefined) {
    const expected = `--file FILE: the journal does not have the module of run ${id} (${command})`
    throw new HeddleError('HDL_BAD_OPTION', { option: 'file', value: file, expected })
  }
  if (typed.args.length > 0) return { file, args: typed.args }
  // Another module has arguments of its own.
  if (typed.file !== undefined && found === undefined) return { file, args: [] }
  if (known === undefined) {
    const expected = `typed again after --: the journal does not have those of run ${id} word by word (${command})`
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'arguments of the module',
      value: undefined,
      expected,
    })
  }
  return { file, args: known }
}

/** An undefined option is not known. */
function recordedModule({ options, command }: RunSnapshot): {
  readonly file?: string | undefined
  readonly args?: readonly string[] | undefined
} {
  const { file, args } = (options['module'] ?? {}) as Partial<RunModule>
  // Typed and shown as it was typed, where it is below this folder.
  if (file !== undefined) return { file: titleOf(file), args }
  // An earlier version has recorded only the command, without the borders of its words.
  const [own = '', rest] = command.split(/ -- (.*)/)
  const [, first] = /^heddle run (\S+\.[cm]?[jt]s)(?: |$)/.exec(own) ?? []
  if (rest === undefined) return { file: first, args: [] }
  return { file: first, args: rest.includes(' ') ? undefined : [rest] }
}
