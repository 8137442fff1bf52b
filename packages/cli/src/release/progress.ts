/**
 * Lines with the time, one for each thing that a stage reports: for logs, pipes and CI. Stages that had
 * nothing to do, or that an earlier process has done, print nothing.
 */
import type { RunEvent } from '@heddle/core'
import { partsOf } from '@heddle/release'
import type { Clock } from '@heddle/core/lowlevel'
import type { Output } from '../output/output.ts'
import type { Reporter, RunPlan } from '../output/reporter.ts'
import { formatError, formatTime, plural } from '../view/format.ts'
import { printableLines, printable } from '../view/text.ts'

/** States after which a stage does not run any more. */
const hasEnded = new Set(['succeeded', 'failed', 'blocked', 'skipped', 'cancelled'])

export class ProgressReporter implements Reporter {
  readonly #out: Output
  readonly #clock: Clock
  /** Stages that have not ended, by package. */
  readonly #open = new Map<string, Set<string>>()
  readonly #packages: number
  #done = 0

  constructor(out: Output, { clock, graph }: Pick<RunPlan, 'clock' | 'graph'>) {
    this.#out = out
    this.#clock = clock
    for (const { name: node } of graph.nodes()) {
      const parts = partsOf(node)
      if (parts === undefined) continue
      const stages = this.#open.get(parts.name) ?? new Set()
      this.#open.set(parts.name, stages.add(node))
    }
    this.#packages = this.#open.size
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
    if (event.type === 'node' && hasEnded.has(event.state)) this.#close(name, event.name)
  }

  /** "n of m packages", once for each package. */
  #close(name: string, node: string): void {
    const stages = this.#open.get(name)
    if (stages?.delete(node) !== true || stages.size > 0) return
    this.#say('done', `${++this.#done} of ${plural(this.#packages, 'package')}: ${name}`)
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
