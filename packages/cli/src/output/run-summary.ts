/** The summary that stays on the screen after a run. */
import { isError, type CriticalPath, type GraphResult } from '@heddle/core'
import type { GapNotice } from '../view/viewport.ts'
import { formatCount, formatDuration, formatError, plural } from '../text/format.ts'
import { command, span, type Line, type Span, type Style } from '../text/line.ts'
import type { Symbols } from '../text/symbols.ts'
import { stateStyles } from '../text/symbols.ts'
import { printable, printableLines } from '../text/terminal-text.ts'
import type { FailedElements } from './failed-elements.ts'
import { isOurs } from './own-frames.ts'
import { shortenPaths } from './gap.ts'

export interface SummaryInput {
  readonly title: string
  readonly result: GraphResult
  readonly criticalPath: CriticalPath
  /** No gap of the event loop was longer than this, in milliseconds; undefined where nothing ran here. */
  readonly longestGap: number | undefined
  /** The longest gap that was worth reporting, its cause, and whether a job caused it. */
  readonly gap: (GapNotice & { readonly byJob: boolean }) | undefined
  /** Where the run is recorded, if anywhere. */
  readonly journal: string | undefined
  /** The command that resumes the run, where there is something left to do. */
  readonly resume: string | undefined
  /** Elements that failed in maps that succeeded. */
  readonly failedElements: readonly FailedElements[]
  readonly symbols: Symbols
}

/** The rest is counted. `--json` and the journal have everything. */
const failuresShown = 20
const blockedShown = 8
const pathShown = 8
const framesShown = 3
/** How many errors of an AggregateError are shown. */
const partsShown = 5

export function summaryLines(input: SummaryInput): Line[] {
  return [
    [],
    headline(input),
    ...failedLines(input),
    ...blockedLines(input),
    ...elementLines(input),
    ...stoppedLines(input),
    ...figureLines(input),
  ]
}

function headline({ title, result, symbols }: SummaryInput): Line {
  const { failed, blocked, cancelled, skipped, reused, succeeded } = result
  const isCancelled = result.state === 'cancelled'
  const parts = [
    [failed.size, 'failed'],
    [blocked.size, 'blocked'],
    [cancelled.length, 'stopped'],
    [skipped.length, 'skipped'],
    [succeeded.length + reused.length, 'succeeded'],
  ] as const
  const counts = parts
    .filter(([count]) => count > 0)
    .map(([n, word]) => `${formatCount(n)} ${word}`)
  const style: Style = result.ok ? 'green' : isCancelled ? 'yellow' : 'red'
  const symbol = symbols.states[result.ok ? 'succeeded' : isCancelled ? 'cancelled' : 'failed']
  const earlier = reused.length > 0 ? ` (${formatCount(reused.length)} reused)` : ''
  return [
    span(`${symbol} ${printable(title)}: `, [style, 'bold'] as Style),
    span(isCancelled ? 'cancelled: ' : ''),
    span(`${counts.join(', ') || 'no jobs'}${earlier} in ${formatDuration(result.duration)}`),
  ]
}

function failedLines({ result, symbols }: SummaryInput): Line[] {
  const lines: Line[] = []
  for (const [name, error] of [...result.failed].slice(0, failuresShown)) {
    const errors = result.errors.get(name) ?? [error]
    const times = errors.length > 1 ? `  ${plural(errors.length, 'attempt')}` : ''
    lines.push(
      [],
      [
        span(`  ${symbols.states.failed} `, stateStyles.failed),
        span(printable(name), 'bold'),
        span(times, 'dim'),
      ],
    )
    for (const [i, one] of errors.entries()) {
      const number = errors.length > 1 ? `${i + 1}. ` : ''
      lines.push(...failureLines(one, number, i === errors.length - 1))
    }
  }
  const more = result.failed.size - failuresShown
  if (more > 0) lines.push([], [span(`    and ${formatCount(more)} more failed`, 'dim')])
  return lines
}

/** The message, then, for the last attempt, where it was thrown and what to do about it. */
export function failureLines(error: unknown, number: string, isLast: boolean): Line[] {
  const indent = ' '.repeat(6 + number.length)
  const [first = '', ...rest] = printableLines(formatError(error))
  const lines: Line[] = [
    [span(`      ${number}`, 'dim'), span(first, 'red')],
    ...rest.map((text): Line => [span(indent), span(text, 'red')]),
  ]
  if (!isLast || !(error instanceof Error)) return lines
  let frames = userFrames(error)
  for (const frame of frames) lines.push([span(`${indent}at ${frame}`, 'dim')])
  const { errors } = error as { errors?: unknown }
  if (Array.isArray(errors)) {
    for (const one of errors.slice(0, partsShown)) {
      const text = printableLines(formatError(one)).join(' ')
      lines.push([span(`${indent}one of ${errors.length}: `, 'dim'), span(text)])
    }
  }
  let said = formatError(error)
  // The help of a cause comes before the help of the map or job that failed by it.
  const helps: string[] = []
  for (let cause = error.cause, depth = 0; cause !== undefined && depth < 4; depth++) {
    const text = formatError(cause)
    // Errors that stand for one of a part of the work repeat its text: once is enough.
    if (!said.includes(text.replace(/\.$/, ''))) {
      lines.push([span(`${indent}caused by: `, 'dim'), span(printable(text))])
    }
    said = text
    if (!(cause instanceof Error)) break
    if ('help' in cause && typeof cause.help === 'string') helps.unshift(cause.help)
    if (frames.length === 0) {
      frames = userFrames(cause)
      for (const frame of frames) lines.push([span(`${indent}at ${frame}`, 'dim')])
    }
    ;({ cause } = cause)
  }
  if ('help' in error && typeof error.help === 'string') helps.push(error.help)
  for (const help of helps) lines.push([span(indent), span(printable(help), 'cyan')])
  return lines
}

/** Where it was thrown, without frames of Node and of Heddle itself. */
function userFrames(error: Error): string[] {
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return frames
    .filter((line) => !line.includes('node:') && !isOurs(line))
    .slice(0, framesShown)
    .map((line) => printable(shortenPaths(line.trim().replace(/^at (async )?/, ''))))
}

function blockedLines({ result, symbols }: SummaryInput): Line[] {
  const byCause = new Map<string, string[]>()
  for (const [name, cause] of result.blocked) {
    const list = byCause.get(cause)
    if (list === undefined) byCause.set(cause, [name])
    else list.push(name)
  }
  const lines: Line[] = [...byCause]
    .slice(0, failuresShown)
    .map(([cause, list]) => [
      span(`  ${symbols.states.blocked} `, stateStyles.blocked),
      span(`${plural(list.length, 'job')} blocked by "${printable(cause)}": `),
      span(shortList(list), 'dim'),
    ])
  return lines.length === 0 ? [] : [[], ...lines]
}

/** A run may succeed although elements of its maps have failed: that must not be overlooked. */
function elementLines({ failedElements, symbols }: SummaryInput): Line[] {
  const lines: Line[] = []
  for (const { name, elements, failed, first } of failedElements.slice(0, failuresShown)) {
    const count = `${formatCount(failed)} of ${plural(elements, 'element')} failed`
    lines.push([
      span(`  ${symbols.warning} `, 'yellow'),
      span(printable(name), 'bold'),
      span(`: ${count}; the map has collected them`),
    ])
    for (const { index, text } of first) {
      const [line = ''] = printableLines(text)
      lines.push([span(`      [${index}] `, 'dim'), span(line, 'red')])
    }
    const more = failed - first.length
    if (first.length > 0 && more > 0) {
      lines.push([span(`      and ${formatCount(more)} more`, 'dim')])
    }
  }
  const more = failedElements.length - failuresShown
  if (more > 0) lines.push([span(`    and ${plural(more, 'more map')}`, 'dim')])
  return lines.length === 0 ? [] : [[], ...lines]
}

function stoppedLines({ result, symbols }: SummaryInput): Line[] {
  const isAbandoned = (name: string): boolean =>
    isError(result.errors.get(name)?.at(-1), 'HDL_UNRESPONSIVE')
  const abandoned = result.cancelled.filter(isAbandoned)
  const stopped = result.cancelled.filter((name) => !isAbandoned(name))
  const mark = span(`  ${symbols.states.cancelled} `, stateStyles.cancelled)
  const lines: Line[] = []
  if (stopped.length > 0) {
    const count = span(`${plural(stopped.length, 'job')} stopped: `)
    lines.push([mark, count, span(shortList(stopped), 'dim')])
  }
  if (abandoned.length > 0) {
    const ignored = 'ignored the abort and may still be running'
    const count = span(`${plural(abandoned.length, 'job')} ${ignored}: `, 'yellow')
    lines.push([mark, count, span(shortList(abandoned), 'dim')])
  }
  return lines.length === 0 ? [] : [[], ...lines]
}

function shortList(list: readonly string[]): string {
  const more = list.length - blockedShown
  const shown = list.slice(0, blockedShown).map(printable).join(', ')
  return more > 0 ? `${shown} and ${formatCount(more)} more` : shown
}

function figureLines(input: SummaryInput): Line[] {
  const { criticalPath, longestGap, gap, result, journal, resume } = input
  const lines: Line[] = []
  const add = (label: string, ...text: Span[]): void => {
    lines.push([span(`  ${label.padEnd(14)}`, 'dim'), ...text])
  }
  if (criticalPath.path.length > 0) {
    add('critical path', span(`${formatDuration(criticalPath.length)}: ${pathText(input)}`))
  }
  if (gap === undefined && longestGap !== undefined) {
    const longest = formatDuration(longestGap)
    add('event loop', span(`stayed free: nothing held it up for longer than ${longest}`))
  } else if (gap !== undefined) {
    add('event loop', span(`stood still for ${formatDuration(gap.ms)}: ${gap.blame}`))
    const advice = gap.byJob ? "; place: 'thread' takes such work off it" : ''
    add('', span(`nothing else ran during that time${advice}`, 'dim'))
  }
  if (result.run !== undefined) add('run', span(`${result.run} in ${journal ?? 'memory'}`))
  if (resume !== undefined) add('resume with', command(resume, 'bold'))
  return [[], ...lines]
}

/** Shows only the longest of its nodes: those in between are left out. */
export function pathText({
  criticalPath: { path },
  symbols,
}: {
  readonly criticalPath: Pick<CriticalPath, 'path'>
  readonly symbols: Symbols
}): string {
  const longest = new Set([...path].sort((a, b) => b.ms - a.ms).slice(0, pathShown))
  const parts: string[] = []
  for (const node of path) {
    if (longest.has(node)) parts.push(`${printable(node.name)} ${formatDuration(node.ms)}`)
    else if (parts.at(-1) !== symbols.ellipsis) parts.push(symbols.ellipsis)
  }
  return parts.join(` ${symbols.arrow} `)
}
