import type { NodeState, RunState } from '@heddle/core'
import type { RunModel } from '../model/run-model.ts'
import { formatAge, formatCount, formatRate, formatRemaining } from '../text/format.ts'
import { span, spread, textOf, type Line, type Span, type Style } from '../text/line.ts'
import { stateStyles } from '../text/symbols.ts'
import { truncateStart, widthOf } from '../text/terminal-text.ts'
import type { Viewport } from './viewport.ts'

const runStates: Readonly<Record<RunState, readonly [word: string, style: Style]>> = {
  idle: ['starting', 'dim'],
  running: ['running', 'green'],
  paused: ['PAUSED', ['yellow', 'bold']],
  draining: ['CANCELLING', ['yellow', 'bold']],
  finished: ['finished', 'green'],
  cancelled: ['CANCELLED', ['yellow', 'bold']],
}

/** Columns of a title that are left in the narrowest terminal. */
const shortestTitle = 12

/** The title and the state of the run. A long title, usually a path, is shortened before the state and the time. */
export function titleLine(model: RunModel, viewport: Viewport): Line {
  const [word, style] = runStates[model.state]
  const { progress, columns, symbols } = viewport
  const state = [
    span('  '),
    span(word, style),
    ...(progress === undefined ? [] : [span(`  ${progress}`)]),
  ]
  const times = timeSpans(model, viewport)
  const shortest = times.at(-1)
  const time = shortest === undefined ? 0 : widthOf(textOf(shortest)) + 2
  const forTitle = Math.max(shortestTitle, columns - widthOf(textOf(state)) - time)
  const left = [span(truncateStart(model.title, forTitle, symbols.ellipsis), 'bold'), ...state]
  const room = columns - widthOf(textOf(left)) - 2
  // In a narrow terminal the time that has passed stays longest.
  const right = times.find((line) => widthOf(textOf(line)) <= room) ?? []
  return spread(left, right, columns)
}

/** Nodes that have to end before a rate says something. */
const enoughForRate = 20

/** The time that has passed, with the rate and the time that is left: the longest form first. */
function timeSpans(model: RunModel, { now, remaining }: Viewport): readonly Line[] {
  if (model.startedAt === undefined) return []
  const ms = (model.endedAt ?? now) - model.startedAt
  const ran = model.counts.succeeded - model.reused + model.counts.failed
  const rate = ran < enoughForRate ? '' : `, ${formatRate((ran / Math.max(ms, 1)) * 1_000)}`
  const elapsed = span(formatAge(ms))
  const withRate = span(formatAge(ms) + rate)
  // While nothing starts, the time that is left does not get shorter: no number would be true.
  if (remaining === undefined || model.state !== 'running' || model.endedAt !== undefined) {
    return [[withRate], [elapsed]]
  }
  const left = span(formatRemaining(remaining), 'dim')
  return [[withRate, left], [elapsed, left], [withRate], [elapsed]]
}

/**
 * The progress of the run: nodes finished by an earlier run, by this one, failed, skipped. Each part has
 * a character of its own, because not every terminal has colours. Only succeeded nodes count as done.
 */
export function barLine(model: RunModel, { columns, symbols }: Viewport): Line {
  const { total, counts, reused } = model
  const done = counts.succeeded
  const percent = `${total === 0 ? 100 : Math.floor((done / total) * 100)} %`.padStart(5)
  const figures = `  ${formatCount(done)}/${formatCount(total)} ${percent}`
  const width = Math.max(0, columns - widthOf(figures))
  const { bar } = symbols
  const parts: readonly (readonly [count: number, symbol: string, style: Style])[] = [
    [reused, bar.reused, 'cyan'],
    [done - reused, bar.done, 'green'],
    [counts.failed + counts.blocked + counts.cancelled, bar.failed, 'red'],
    [counts.skipped, bar.skipped, 'dim'],
  ]
  const shown = parts.filter(([count]) => count > 0)
  const isOver = shown.reduce((sum, [count]) => sum + count, 0) === total
  const spans: Span[] = []
  let left = width
  for (const [i, [count, symbol, style]] of shown.entries()) {
    // Small groups are shown too, as long as there is room: a cell for each kind, and for the rest.
    const others = shown.length - i - 1 + (isOver ? 0 : 1)
    const own = Math.max(1, Math.round((width * count) / total))
    const cells = Math.max(0, Math.min(own, Math.max(1, left - others), left))
    spans.push(span(symbol.repeat(cells), style))
    left -= cells
  }
  return [...spans, span((done === total ? bar.done : bar.left).repeat(left), 'dim'), span(figures)]
}

/** In a narrow terminal the least important counts are dropped. */
const countOrder: readonly (readonly [NodeState, string])[] = [
  ['running', 'running'],
  ['failed', 'failed'],
  ['blocked', 'blocked'],
  ['retrying', 'retrying'],
  ['suspended', 'suspended'],
  ['cancelled', 'stopped'],
  ['skipped', 'skipped'],
  ['succeeded', 'done'],
  ['ready', 'ready'],
  ['waiting', 'waiting'],
]

/** How many nodes are in each state: whole counts only, as many as fit. */
export function countsLine(model: RunModel, { columns, symbols }: Viewport): Line {
  const counts: Span[] = []
  for (const [state, word] of countOrder) {
    const count = model.counts[state]
    // Before the finished count: the bar has that figure too.
    if (state === 'succeeded' && model.reused > 0) {
      counts.push(span(`${formatCount(model.reused)} reused`, 'cyan'))
    }
    if (count > 0) counts.push(span(`${formatCount(count)} ${word}`, stateStyles[state]))
  }
  const separator = span(` ${symbols.dot} `, 'dim')
  const spans: Span[] = []
  const more = span(` ${symbols.ellipsis}`, 'dim')
  let room = columns
  let isCut = false
  for (const [i, count] of counts.entries()) {
    const piece = spans.length === 0 ? [count] : [separator, count]
    const width = widthOf(textOf(piece))
    const rest = i === counts.length - 1 && !isCut ? 0 : widthOf(more.text)
    if (width + rest > room) {
      // A shorter one behind it may still fit.
      isCut = true
      continue
    }
    spans.push(...piece)
    room -= width
  }
  return isCut ? [...spans, more] : spans
}
