import type { RunEvent } from '@heddle/core'
import type { Clock } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { Output } from '../../src/output/output.ts'
import type { RunPlan } from '../../src/output/reporter.ts'
import { graphOf } from './graphs.ts'

/** An output whose lines can be read. */
export class Paper {
  text = ''
  readonly output: Output = new Output({
    write: (text, callback) => {
      this.text += text
      callback?.()
      return true
    },
    on: () => undefined,
  })

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1)
  }
}

export function planOf(
  specs: readonly string[],
  more: Partial<RunPlan> = {},
  clock: Clock = new VirtualClock(),
): RunPlan {
  return {
    graph: graphOf(...specs),
    title: 'nightly.ts',
    concurrency: 2,
    retries: 2,
    durations: new Map(),
    journal: 'sqlite:runs.db',
    clock,
    ...more,
  }
}

export function node(
  name: string,
  state: (RunEvent & { type: 'node' })['state'],
  more: Partial<RunEvent & { type: 'node' }> = {},
): RunEvent {
  return { type: 'node', at: 0, name, state, attempt: 0, ...more }
}
