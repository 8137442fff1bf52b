/** `heddle runs retry`: runs again what did not succeed in a run, or, in a new run, everything from a node on. */
import { HeddleError } from '@heddle/core'
import type { RunSnapshot } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { executeRun } from '../run/execute.ts'
import { runWords } from '../run/resume-command.ts'
import type { RunSettings } from '../run/settings.ts'
import { findRun } from './find-run.ts'
import { look, type LookSettings } from './look.ts'

export interface RetrySettings extends LookSettings {
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
  await look(settings, async ({ journal }): Promise<ExitCode> => {
    const { id } = await findRun(journal, settings.run)
    found = runSettings(await journal.snapshot(id), settings)
    return exitCodes.ok
  })
  if (found === undefined) return
  // The journal keeps the command that the run can be started with again.
  const { args } = found
  process.argv.splice(2, Infinity, ...runWords(found), ...(args.length > 0 ? ['--', ...args] : []))
  await executeRun(found)
}

/** What `heddle run` is given to retry a run. The limits are those that the run was started with. */
export function runSettings(run: RunSnapshot, settings: RetrySettings): RunSettings {
  const { journal, json, color, quiet, from, allowChanges } = settings
  const started = startOf(run.command)
  const file = settings.file ?? started?.file
  if (file === undefined) {
    const expected = `--file FILE: run ${run.id} was started by another program (${run.command})`
    throw new HeddleError('HDL_BAD_OPTION', { option: 'file', value: file, expected })
  }
  const { concurrency, retries, timeout } = run.options
  return {
    file,
    args: settings.args.length > 0 ? settings.args : (started?.args ?? []),
    title: run.title,
    concurrency: numberOf(concurrency),
    retries: numberOf(retries),
    timeout: numberOf(timeout),
    journal,
    only: onlyOf(run),
    key: undefined,
    resume: run.id,
    from,
    threads: undefined,
    threadMemory: undefined,
    ui: undefined,
    allowChanges,
    json,
    quiet,
    color,
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

/** The module and its arguments, from the command line that the journal has. */
function startOf(
  command: string,
): { readonly file: string; readonly args: readonly string[] } | undefined {
  const [own = '', ...rest] = command.split(' -- ')
  const [, words] = /^heddle run (.+)$/.exec(own) ?? []
  const file = words?.split(' ').find((word) => /\.[cm]?[jt]s$/.test(word))
  if (file === undefined) return undefined
  return { file, args: rest.join(' -- ').split(' ').filter(Boolean) }
}
