/**
 * The two outputs of the process, as the chosen view uses them.
 *
 * | view | standard output | what jobs print |
 * |---|---|---|
 * | live | region and summary | lines above the region |
 * | plain | a line per event, and the summary | between them, in order |
 * | quiet | a line per failure, and the summary | between them, in order |
 * | json | one object per line, and nothing else | goes to standard errors, and so does the summary |
 */
import type { Clock } from '@heddle/core/lowlevel'
import { chooseView, type ViewChoice, type ViewWishes } from '../terminal/capabilities.ts'
import { beforeWrites, capture } from '../terminal/capture.ts'
import { formatError } from '../text/format.ts'
import { paint, type Line } from '../text/line.ts'
import { asciiSymbols, unicodeSymbols, type Symbols } from '../text/symbols.ts'
import { wrapAll } from '../text/wrap.ts'
import { JsonReporter } from './json-reporter.ts'
import { LiveReporter } from './live.ts'
import { Output, type OutputStream } from './output.ts'
import { PlainReporter } from './plain.ts'
import { QuietReporter } from './quiet.ts'
import type { Reporter, RunPlan } from './reporter.ts'

export class Printer {
  readonly symbols: Symbols
  readonly #choice: ViewChoice
  readonly #clock: Clock
  readonly #err = new Output(process.stderr)
  readonly #out: Output

  constructor(wishes: ViewWishes, clock: Clock) {
    const { env, platform, stdout } = process
    this.#clock = clock
    this.#choice = chooseView({ env, platform, isTerminal: stdout.isTTY }, wishes)
    this.symbols = this.#choice.unicode ? unicodeSymbols : asciiSymbols
    this.#out = this.#openStdout()
  }

  /** Whether the view can be steered by keys. */
  get isLive(): boolean {
    return this.#choice.mode === 'live'
  }

  /** Whether standard output is one JSON object per line. */
  get isForPrograms(): boolean {
    return this.#choice.mode === 'json'
  }

  reporterFor(plan: RunPlan): Reporter {
    switch (this.#choice.mode) {
      case 'json':
        return new JsonReporter(this.#out, plan)
      case 'plain':
        return new PlainReporter(this.#out, plan)
      case 'quiet':
        return new QuietReporter((line) => this.printLines([line]), this.symbols)
      case 'live': {
        const { stdin, stdout, stderr } = process
        return new LiveReporter(plan, {
          terminal: stdout,
          errors: stderr.isTTY ? stderr : undefined,
          keys: stdin.isTTY,
          color: this.#choice.color,
          symbols: this.symbols,
          onFailure: (error) =>
            this.#err.line(
              `heddle: the live view failed, the run continues: ${formatError(error)}`,
            ),
        })
      }
    }
  }

  /** For people: to the errors when the output is for programs. */
  printLines(lines: readonly Line[]): void {
    const { mode, color } = this.#choice
    const out = mode === 'json' ? this.#err : this.#out
    const columns = columnsOf(mode === 'json' ? process.stderr : process.stdout)
    for (const line of wrapAll(lines, columns)) out.line(paint(line, color))
  }

  /** Prints errors for people. */
  printErrorLines(lines: readonly Line[]): void {
    const color = this.#choice.color && process.stderr.isTTY
    for (const line of wrapAll(lines, columnsOf(process.stderr))) this.#err.line(paint(line, color))
  }

  /** For programs: a line of its own, where they read. */
  answer(object: object): void {
    if (this.#choice.mode === 'json') this.#out.line(JSON.stringify(object))
  }

  /** Writes buffered text now. */
  drain(): void {
    this.#out.drain()
  }

  /**
   * Waits until everything is with its readers.
   *
   * *Cancellation*: none; it ends when they have read or have left.
   */
  async flush(): Promise<void> {
    await Promise.all([this.#out.flush(), this.#err.flush()])
  }

  #openStdout(): Output {
    const { stdout } = process
    switch (this.#choice.mode) {
      case 'live':
        return new Output(stdout)
      case 'plain':
      case 'quiet': {
        const out = new Output(stdout, this.#clock)
        // Output of jobs comes after the lines that were written before it.
        beforeWrites(stdout, out.drain)
        return out
      }
      case 'json': {
        const captured = capture(stdout, this.#err.write)
        const reserved: OutputStream = {
          write: (text, callback) => captured.write(text, callback),
          on: (event, listener) => stdout.on(event, listener),
        }
        return new Output(reserved, this.#clock)
      }
    }
  }
}

/** Undefined where the lines do not go to a terminal: then they are as long as they are. */
function columnsOf({ isTTY, columns }: NodeJS.WriteStream): number | undefined {
  return isTTY ? columns : undefined
}
