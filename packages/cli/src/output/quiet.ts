/**
 * Failures as they happen, and requests by keys or signals; the summary comes at the end. For runs whose
 * success is not worth a line: `--quiet`.
 */
import type { RunEvent } from '@heddle/core'
import { formatErrorWithCause } from '../text/format.ts'
import { span, type Line } from '../text/line.ts'
import { stateStyles, type Symbols } from '../text/symbols.ts'
import { printable, printableLines } from '../text/terminal-text.ts'
import type { Reporter } from './reporter.ts'

export class QuietReporter implements Reporter {
  readonly #print: (line: Line) => void
  readonly #symbols: Symbols

  constructor(print: (line: Line) => void, symbols: Symbols) {
    this.#print = print
    this.#symbols = symbols
  }

  observe(event: RunEvent): void {
    if (event.type !== 'node' || event.state !== 'failed') return
    const error = printableLines(formatErrorWithCause(event.error)).join(' ')
    this.#print([
      span(`${this.#symbols.states.failed} `, stateStyles.failed),
      span(printable(event.name), 'bold'),
      span(`: ${error}`),
    ])
  }

  notice(text: string): void {
    this.#print([span(`${this.#symbols.warning} ${printable(text)}`, 'yellow')])
  }

  started(): void {}
  /** Gaps of the loop are not failures: the longest is in the summary. */
  gap(): void {}
  press(): boolean {
    return false
  }
  suspend(): void {}
  resume(): void {}
  [Symbol.dispose](): void {}
}
