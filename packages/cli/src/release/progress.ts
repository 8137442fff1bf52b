/**
 * Lines with the time, one for each thing that a stage reports: for logs, pipes and CI. Stages that had
 * nothing to do, or that an earlier process has done, print nothing.
 */
import type { RunEvent } from '@heddle/core'
import { partsOf } from '@heddle/release'
import type { Clock } from '@heddle/core/lowlevel'
import type { Output } from '../output/output.ts'
import type { Reporter, RunPlan } from '../output/reporter.ts'
import { formatError, formatTime } from '../text/format.ts'
import { printableLines, printable } from '../text/terminal-text.ts'
import { PackageCount } from './package-count.ts'

export class ProgressReporter implements Reporter {
  readonly #out: Output
  readonly #clock: Clock
  readonly #count: PackageCount

  constructor(out: Output, { clock, graph }: Pick<RunPlan, 'clock' | 'graph'>) {
    this.#out = out
    this.#clock = clock
    this.#count = new PackageCount(graph)
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
    if (this.#count.observe(event) !== undefined) this.#say('done', `${this.#count.text}: ${name}`)
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
