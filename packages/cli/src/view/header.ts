import type { NodeState, RunState } from '@heddle/core'
import type { RunModel } from '../model/run-model.ts'
import { formatAge, formatCount } from './format.ts'
import { span, spread, type Line, type Span, type Style } from './line.ts'
import { stateStyles } from './symbols.ts'
import { widthOf } from './text.ts'
import type { Viewport } from './viewport.ts'

const runStates: Readonly<Record<RunState, readonly [word: string, style: Style]>> = {
  idle: ['starting', 'dim'],
  running: ['running', 'green'],
  paused: ['PAUSED', ['yellow', 'bold']],
  draining: ['CANCELLING', ['yellow', 'bold']],
  finished: ['finished', 'green'],
  cancelled: ['CANCELLED', ['yellow', 'bold']],
}

/** What the run is called and how it stands. */
export function titleLine(model: RunModel, viewport: Viewport): Line {
  const [word, style] = runStates[model.state]
  const left = [span(model.title, 'bold'), span('  '), span(word, style)]
  return spread(left, timeSpans(model, viewport), viewport.columns)
}

function timeSpans(model: RunModel, { now, remaining }: Viewport): Line {
  if (model.startedAt === undefined) return []
  const elapsed = span(formatAge((model.endedAt ?? now) - model.startedAt))
  // While nothing starts, the time that is left does not get shorter: no number would be true.
  if (remaining === undefined || model.state !== 'running' || model.endedAt !== undefined) {
    return [elapsed]
  }
  return [elapsed, span(`, about ${formatAge(remaining)} left`, 'dim')]
}

/** How far the run is. */
export function barLine(model: RunModel, { columns, symbols }: Viewport): Line {
  const { total, ended } = model
  const share = total === 0 ? 1 : ended / total
  const percent = `${Math.floor(share * 100)} %`.padStart(5)
  const figures = `  ${formatCount(ended)}/${formatCount(total)} ${percent}`
  const width = Math.max(0, columns - widthOf(figures))
  const bad = total === 0 ? 0 : Math.ceil((width * unhappy(model)) / total)
  const done = Math.max(0, Math.round(width * share) - bad)
  const left = Math.max(0, width - done - bad)
  const [full, empty] = symbols.bar
  return [
    span(full.repeat(done), 'green'),
    span(full.repeat(bad), 'red'),
    span(empty.repeat(left), 'dim'),
    span(figures),
  ]
}

function unhappy({ counts }: RunModel): number {
  return counts.failed + counts.blocked + counts.cancelled + counts.skipped
}

/** What a narrow terminal cuts off is what matters least. */
const countOrder: readonly (readonly [NodeState, string])[] = [
  ['running', 'running'],
  ['suspended', 'suspended'],
  ['retrying', 'retrying'],
  ['failed', 'failed'],
  ['blocked', 'blocked'],
  ['cancelled', 'stopped'],
  ['skipped', 'skipped'],
  ['succeeded', 'done'],
  ['ready', 'ready'],
  ['waiting', 'waiting'],
]

/** How many nodes are in each state. */
export function countsLine(model: RunModel, { symbols }: Viewport): Line {
  const spans: Span[] = []
  for (const [state, word] of countOrder) {
    const count = model.counts[state]
    if (count === 0) continue
    if (spans.length > 0) spans.push(span(` ${symbols.dot} `, 'dim'))
    spans.push(span(`${formatCount(count)} ${word}`, stateStyles[state]))
  }
  return spans
}
