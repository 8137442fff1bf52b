/** Where an answer goes, and how it may look. */
import type { TextOptions } from '@heddle/analyze'
import { writeAtomic } from '@heddle/core/lowlevel'
import { Output } from '../output/output.ts'
import { errorRecord } from '../output/error-record.ts'
import { errorLines } from '../output/report-error.ts'
import { chooseView } from '../terminal/capabilities.ts'
import { paint, type Line } from '../text/line.ts'
import { painted, textOptions } from './render.ts'
import type { AnalyzeFlags } from './analyze-settings.ts'

const clearLine = '\r\u001b[K'

export class Surface {
  readonly text: TextOptions
  readonly color: boolean
  readonly #out: Output
  readonly #err: Output
  readonly #file: string | undefined
  readonly #isJson: boolean
  readonly #colorErr: boolean
  /** Something is on the terminal that goes away. */
  #hasProgress = false

  constructor({ format, output, color }: AnalyzeFlags) {
    const { stdout, stderr, env, platform } = process
    const wishes = { json: false, color }
    const isTerminal = stdout.isTTY && output === undefined
    const view = chooseView({ env, platform, isTerminal }, wishes)
    const errView = chooseView({ env, platform, isTerminal: stderr.isTTY }, wishes)
    this.text = textOptions(isTerminal ? stdout.columns : undefined, view.unicode)
    this.color = view.color
    this.#colorErr = errView.color
    this.#out = new Output(stdout)
    this.#err = new Output(stderr)
    this.#file = output
    this.#isJson = format === 'json'
  }

  /**
   * Prints the whole answer. In a file it replaces the old content, and `summary` goes to the terminal.
   *
   * *Cancellation*: none; a file is written whole or not at all.
   */
  async answer(text: string, summary: readonly Line[]): Promise<void> {
    this.clearProgress()
    if (this.#file === undefined) return this.#out.write(text)
    await writeAtomic(this.#file, text)
    for (const line of summary) this.#err.line(paint(line, this.#colorErr))
  }

  /** Whether the reader has left. */
  get isGone(): boolean {
    return this.#out.gone
  }

  print(lines: readonly Line[]): void {
    this.clearProgress()
    this.#out.write(painted(lines, this.color))
  }

  /** A line for people, beside the answer. */
  printNote(line: Line): void {
    this.clearProgress()
    this.#err.line(paint(line, this.#colorErr))
  }

  /** Only in a terminal, and gone when there is something to say. */
  progress(text: string): void {
    if (!process.stderr.isTTY || process.env['CI'] !== undefined) return
    this.clearProgress()
    this.#err.write(this.text.measure.truncate(text, process.stderr.columns - 1))
    this.#hasProgress = true
  }

  clearProgress(): void {
    if (this.#hasProgress) this.#err.write(clearLine)
    this.#hasProgress = false
  }

  fail(error: unknown): void {
    this.clearProgress()
    for (const line of errorLines(error)) this.#err.line(paint(line, this.#colorErr))
    if (!this.#isJson || this.#file !== undefined) return
    this.#out.line(JSON.stringify({ version: 1, findings: [], error: errorRecord(error) }))
  }
}
