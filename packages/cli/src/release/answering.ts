/** The common frame of every subcommand of `heddle release`. */
import { isError } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { Output } from '../output/output.ts'
import { errorLines } from '../output/report-error.ts'
import { chooseView, type ViewChoice } from '../terminal/capabilities.ts'
import { paint, span, type Line } from '../view/line.ts'
import { readSettings, type ReleaseSettings } from './settings.ts'

export interface Answer {
  readonly choice: ViewChoice
  readonly out: Output
  /** The workspace and its settings. */
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

/**
 * Lets `work` answer, and turns an error into an exit code: that of a command which could not start, unless
 * `work` has said that it has begun.
 *
 * *Cancellation*: that of `work`.
 */
export async function answering(
  flags: { readonly json?: boolean; readonly color: boolean },
  work: (answer: Answer) => Promise<ExitCode>,
): Promise<void> {
  const { stdout, stderr } = process
  const json = flags.json ?? false
  const choice = chooseView(
    { env: process.env, platform: process.platform, isTerminal: stdout.isTTY },
    { json, color: flags.color },
  )
  // With --json there are thousands of lines, and people read the error output.
  const out = new Output(stdout, json ? systemKernel.clock : undefined)
  const err = new Output(stderr)
  let hasBegun = false
  let config: ReleaseSettings['config'] = {}
  const answer: Answer = {
    choice,
    out,
    settings: async () => {
      const settings = await readSettings()
      config = settings.config
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
