/** What every subcommand of `heddle release` does around its own work. */
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { Output } from '../output/output.ts'
import { errorLines } from '../output/report-error.ts'
import { chooseView, type ViewChoice } from '../terminal/capabilities.ts'
import { paint, type Line } from '../view/line.ts'

export interface Answer {
  readonly choice: ViewChoice
  readonly out: Output
  /** Lines for people: to the errors when the output is for programs. */
  readonly tell: (lines: readonly Line[]) => void
  /** The one object for programs, with `--json`. */
  readonly result: (object: object) => void
  /** Something is being done from here on. */
  readonly begun: () => void
  /** One line of warning, on standard errors. */
  readonly warn: (text: string) => void
}

/**
 * Lets `work` answer, and turns what goes wrong into an exit code. It is the one of a command that
 * could not start, unless `work` has said that it has begun.
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
  const out = new Output(stdout)
  const err = new Output(stderr)
  let hasBegun = false
  const answer: Answer = {
    choice,
    out,
    tell: (lines) => {
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
    for (const line of errorLines(error)) err.line(paint(line, choice.color && stderr.isTTY))
    answer.result({ ok: false, packages: [], error: errorRecord(error) })
  }
  await Promise.all([out.flush(), err.flush()])
}
