/**
 * What a release does, as lines with the time: for logs, pipes and CI. A stage says itself what it
 * has done: of one that had nothing to do, or was done by an earlier process, nothing is told.
 */
import type { RunEvent } from '@heddle/core'
import { partsOf } from '@heddle/release'
import type { Clock } from '@heddle/core/lowlevel'
import type { Output } from '../output/output.ts'
import type { Reporter } from '../output/reporter.ts'
import { formatError, formatTime } from '../view/format.ts'
import { printableLines, printable } from '../view/text.ts'

export class ProgressReporter implements Reporter {
  readonly #out: Output
  readonly #clock: Clock

  constructor(out: Output, clock: Clock) {
    this.#out = out
    this.#clock = clock
  }

  observe(event: RunEvent): void {
    if (event.type === 'state' && event.state !== 'running') return this.#say(event.state, '')
    if (event.type !== 'node' && event.type !== 'log') return
    const parts = partsOf(event.name)
    if (parts === undefined) return
    const { name, stage } = parts
    if (event.type === 'log') {
      this.#say(stage, `${name}: ${event.text}`)
    } else if (event.state === 'failed') {
      const [first = ''] = printableLines(formatError(event.error))
      this.#say('failed', `${name} (${stage}): ${first}`)
    }
  }

  started(): void {}

  notice(text: string): void {
    this.#say('note', text)
  }

  gap(): void {}

  press(): boolean {
    return false
  }

  suspend(): void {}
  resume(): void {}
  [Symbol.dispose](): void {}

  #say(word: string, text: string): void {
    const time = formatTime(this.#clock.wallTime())
    this.#out.line(`${time} ${word.padEnd(9)} ${printable(text)}`.trimEnd())
  }
}
