/** The common frame of every subcommand of `heddle release`. */
import { HeddleError, isError } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { findIdleFlag, longFlag, type Typed } from './release-flags.ts'
import type { PlanFlags } from './flag-types.ts'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { Output } from '../output/output.ts'
import { errorLines } from '../output/report-error.ts'
import { chooseView, type ViewChoice } from '../terminal/capabilities.ts'
import { paint, span, type Line } from '../text/line.ts'
import { readSettings, type ReleaseSettings } from './release-settings.ts'

export interface Answer<F> {
  /** The flags, which remember that they were read. */
  readonly flags: F
  readonly choice: ViewChoice
  readonly out: Output
  /** The workspace and its settings. Refuses flags that can have no effect with them. */
  readonly settings: () => Promise<ReleaseSettings>
  /** Lines for people: to the errors when the output is for programs. */
  readonly printLines: (lines: readonly Line[]) => void
  /** The one object for programs, with `--json`. */
  readonly result: (object: object) => void
  /** Something is being done from here on. */
  readonly begun: () => void
  /** One line of warning, on standard errors. */
  readonly warn: (text: string) => void
}

/** Flags that every subcommand has. */
interface CommonFlags extends Pick<PlanFlags, 'from' | 'ecosystem'> {
  readonly json?: boolean
  readonly color: boolean
}

/**
 * Lets `work` answer, and turns an error into an exit code: that of a command which could not start, unless
 * `work` has said that it has begun. A flag that was typed and that `work` has not read is reported: no flag is ignored
 * silently.
 *
 * *Cancellation*: that of `work`.
 */
export async function answering<F extends CommonFlags>(
  typed: Typed<F>,
  work: (answer: Answer<F>) => Promise<ExitCode>,
): Promise<void> {
  const { flags } = typed
  const unread = new Set(typed.given)
  const { stdout, stderr } = process
  const { json = false, color } = noteReads(flags, unread)
  const choice = chooseView(
    { env: process.env, platform: process.platform, isTerminal: stdout.isTTY },
    { json, color },
  )
  // With --json there are thousands of lines, and people read the error output.
  const out = new Output(stdout, json ? systemKernel.clock : undefined)
  const err = new Output(stderr)
  let hasBegun = false
  let config: ReleaseSettings['config'] = {}
  const answer: Answer<F> = {
    flags: noteReads(flags, unread),
    choice,
    out,
    settings: async () => {
      const settings = await readSettings(answer.flags)
      config = settings.config
      refuseIdleFlags(typed, settings)
      return settings
    },
    printLines: (lines) => {
      for (const line of lines) (json ? err : out).line(paint(line, choice.color))
    },
    result: (object) => {
      if (json) out.line(JSON.stringify(object))
    },
    begun: () => {
      hasBegun = true
    },
    warn: (text) => err.line(`heddle: ${text}`),
  }
  try {
    process.exitCode = await work(answer)
    for (const name of unread) {
      answer.warn(`${longFlag(typed.command, name)} had no effect on what was done`)
    }
  } catch (error) {
    process.exitCode = hasBegun ? exitCodes.failed : exitCodes.usage
    const isColored = choice.color && stderr.isTTY
    for (const line of [...errorLines(error), ...placeOf(error, flags, config)]) {
      err.line(paint(line, isColored))
    }
    answer.result({ ok: false, packages: [], error: errorRecord(error) })
  }
  await Promise.all([out.flush(), err.flush()])
}

/** The same flags; the name of each that is read is taken out of `unread`. */
function noteReads<F extends object>(flags: F, unread: Set<string>): F {
  return new Proxy(flags, {
    get: (from, name, receiver) => {
      unread.delete(String(name))
      return Reflect.get(from, name, receiver) as unknown
    },
  })
}

/** @throws `HDL_FLAG_UNUSED` */
function refuseIdleFlags(typed: Typed<CommonFlags>, { config, repository }: ReleaseSettings): void {
  const from = typed.flags.from ?? config.from
  const idle = findIdleFlag(typed, { from, isRepository: repository !== undefined })
  if (idle === undefined) return
  throw new HeddleError('HDL_FLAG_UNUSED', { ...idle, command: `heddle release ${typed.command}` })
}

/** Options of the library whose flag has another name. */
const flagNames: Readonly<Record<string, string>> = { prerelease: 'preid', mode: 'lockstep' }

/** Where people have written a wrong option: on the command line, or in the settings file of the workspace. */
function placeOf(error: unknown, flags: object, config: object): Line[] {
  if (!isError(error, 'HDL_BAD_OPTION')) return []
  const { option } = error.details
  const camel = option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  const flag = flagNames[camel] ?? camel
  const has = (fields: object, name: string): boolean =>
    Object.hasOwn(fields, name) && (fields as Readonly<Record<string, unknown>>)[name] !== undefined
  if (has(flags, flag)) {
    const words = flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    return [[span(`        It is the flag --${words}.`, 'cyan')]]
  }
  if (!has(config, option.split('.')[0]!)) return []
  return [
    [span(`        It is \`${option}\` of the settings file, heddle.release.json or .ts.`, 'cyan')],
  ]
}
