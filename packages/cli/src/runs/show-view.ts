/** A run in text. */
import type { CriticalPath } from '@heddle/core'
import {
  fromErrorRecord,
  hasWorkLeft,
  type LogLine,
  type NodeRecord,
  nodeWord,
  outcomeOf,
  queueTime,
  type RunRecord,
  runTime,
} from '@heddle/core/lowlevel'
import { failureLines, pathText } from '../output/run-summary.ts'
import { formatCount, formatDuration, plural } from '../text/format.ts'
import { command, span, type Line, type Span } from '../text/line.ts'
import { printable, printableLines, truncate } from '../text/terminal-text.ts'
import type { Surface } from './with-journal.ts'
import { nodeStyle, nodeSymbol } from './node-state.ts'
import { isTrouble, notableNodes } from './notable.ts'
import { countsText, outcomeStyles, outcomeSymbol } from './outcome-text.ts'
import { resumeHint } from './resume-hint.ts'
import { table } from './column-table.ts'
import { formatAgo, formatDateTime } from '../text/times.ts'
import { waitText } from './waits.ts'

export interface ShowInput {
  readonly record: RunRecord
  readonly criticalPath: CriticalPath
  /** Whether the view stops at an earlier point of the run: later rows are left out. */
  readonly isPast: boolean
  readonly surface: Surface
}

/** Further nodes are only counted, unless the caller asks for all. */
const nodesShown = 60
const failuresShown = 20
const longestName = 48

export function showLines(input: ShowInput, all: boolean): Line[] {
  return [...headerLines(input), [], ...nodeTable(input, all), ...failures(input)]
}

/** Milliseconds since the start, signed: `+1.2 s`. */
export function sinceStart({ startedAt }: Pick<RunRecord, 'startedAt'>, at: number): string {
  return `+${formatDuration(Math.max(0, at - startedAt))}`
}

/** Where a run comes from that was made with --from. */
function forkedFrom({ options }: RunRecord): string | undefined {
  const { run, node } = (options['forkedFrom'] ?? {}) as { run?: unknown; node?: unknown }
  if (typeof run !== 'string' || typeof node !== 'string') return undefined
  return printable(`from "${node}" of run ${run}`)
}

const labelWidth = 15

/** One line of `label  text`. */
export function field(label: string, ...text: Span[]): Line {
  return [span(`  ${label.padEnd(labelWidth)}`, 'dim'), ...text]
}

export function titleLine({ record, surface }: ShowInput): Line {
  const outcome = outcomeOf(record)
  const symbol = outcomeSymbol(outcome, surface.symbols)
  return [
    span(`${symbol} `, outcomeStyles[outcome]),
    span(printable(record.title), 'bold'),
    span('  '),
    span(outcome, outcomeStyles[outcome]),
  ]
}

const onlyNote = ', and their dependencies'

function headerLines(input: ShowInput): Line[] {
  const { record, criticalPath, isPast, surface } = input
  const { symbols, now, address } = surface
  const { sessions, rows, position } = record
  const lines: Line[] = [titleLine(input)]
  if (isPast) {
    const at = `row ${position}, ${sinceStart(record, record.until)}`
    lines.push(field('as of', span(at, 'bold'), span(`; rows ${rows[0]} to ${rows[1]}`, 'dim')))
  }
  lines.push(field('run', span(`${record.id} in ${printable(address)}`)))
  const forked = forkedFrom(record)
  if (forked !== undefined) lines.push(field('made', span(forked)))
  const { only } = record.options
  if (Array.isArray(only)) {
    lines.push(field('only', span(printable(only.map(String).join(', '))), span(onlyNote, 'dim')))
  }
  const started = formatDateTime(record.startedAt)
  lines.push(field('started', span(started), span(`, ${formatAgo(now - record.startedAt)}`, 'dim')))
  lines.push(field(tookLabel(record), span(tookText(record))))
  const by = sessions.at(-1)?.by ?? record
  const where = span(`  (pid ${by.pid} on ${printable(by.host)})`, 'dim')
  lines.push(field('command', span(printable(by.command) || '?'), where))
  const limits = limitsText(record.options)
  if (limits !== '') lines.push(field('limits', span(limits)))
  lines.push(field('jobs', span(countsText(record.counts))))
  if (criticalPath.path.length > 0) {
    const text = `${formatDuration(criticalPath.length)}: ${pathText({ criticalPath, symbols })}`
    lines.push(field('critical path', span(text)))
  }
  if (!isPast && hasWorkLeft(record)) {
    lines.push(field('resume with', command(printable(resumeHint(record, address)), 'cyan')))
  }
  if (!isPast) lines.push(field('rows', span(`${rows[0]} to ${rows[1]}`, 'dim')))
  return lines
}

function tookLabel({ state, endedAt }: RunRecord): string {
  if (endedAt !== undefined) return 'took'
  return state === 'interrupted' ? 'cut off after' : 'so far'
}

function tookText({ elapsed, sessions, startedAt, until }: RunRecord): string {
  const took = formatDuration(elapsed)
  if (sessions.length < 2) return took
  const over = formatDuration(until - startedAt)
  return `${took}, in ${plural(sessions.length, 'process', 'processes')} one after the other over ${over}`
}

const milliseconds = new Set(['timeout', 'retryBaseDelay', 'aging', 'cancelGrace', 'abortGrace'])

function limitsText(options: RunRecord['options']): string {
  return Object.entries(options)
    .filter(([, value]) => typeof value === 'number' || typeof value === 'string')
    .map(([name, value]) => {
      const isTime = typeof value === 'number' && milliseconds.has(name)
      return `${name} ${isTime ? formatDuration(value) : printable(String(value))}`
    })
    .join(', ')
}

const columns = [
  { title: '  NODE' },
  { title: 'PLACE' },
  { title: 'ATTEMPTS', align: 'right' },
  { title: 'QUEUED', align: 'right' },
  { title: 'RAN', align: 'right' },
  { title: '' },
] as const

function nodeTable({ record, criticalPath, surface }: ShowInput, all: boolean): Line[] {
  const critical = new Set(criticalPath.path.map(({ name }) => name))
  const shown = all ? new Set(record.nodes) : notableNodes(record.nodes, critical, nodesShown)
  const rows = record.nodes
    .filter((node) => shown.has(node))
    .map((node) => nodeCells(node, record, critical.has(node.name), surface))
  const lines = table(columns, rows, surface)
  const hidden = record.nodes.filter((node) => !shown.has(node))
  if (hidden.length > 0) {
    const bad = hidden.filter(isTrouble).length
    const troubled = bad === 0 ? '' : `, ${formatCount(bad)} of them with failures`
    const text = `  and ${plural(hidden.length, 'more job')}${troubled}; --all shows them`
    lines.push([span(text, 'dim')])
  }
  return lines
}

function nodeCells(
  node: NodeRecord,
  record: RunRecord,
  isCritical: boolean,
  { symbols, timelineSymbols }: Surface,
): Line[] {
  const word = nodeWord(node)
  const { attempts } = node
  const name = truncate(printable(node.name), longestName, symbols.ellipsis)
  const cells: Line[] = [
    [span(`${nodeSymbol(word, symbols)} `, nodeStyle(word)), span(name)],
    [span(node.place, 'dim')],
  ]
  const remark = remarkOf(node, isCritical, timelineSymbols.critical)
  if (attempts.length === 0 && node.queuedAt === undefined) return [...cells, [], [], [], remark]
  const queued = formatDuration(queueTime(node, record.until))
  const ran = attempts.length === 0 ? '' : formatDuration(runTime(node))
  return [
    ...cells,
    [span(formatCount(attempts.length), attempts.length > 1 ? 'yellow' : 'dim')],
    [span(queued)],
    [span(ran)],
    remark,
  ]
}

/** A remark that the state symbol does not give. */
function remarkOf(node: NodeRecord, isCritical: boolean, mark: string): Line {
  const word = nodeWord(node)
  const remark: Span[] = isCritical ? [span(mark, 'bold')] : []
  if (isCritical && word !== 'succeeded') remark.push(span(' '))
  if (word === 'blocked')
    remark.push(span(`blocked by "${printable(node.blockedBy ?? '')}"`, 'dim'))
  else if (word !== 'succeeded') remark.push(span(word, nodeStyle(word)))
  const waits = word === 'suspended' ? waitText(node) : ''
  if (waits !== '') remark.push(span(`: ${waits}`, 'dim'))
  return remark
}

/** The errors of all attempts, of nodes that succeeded in the end too. */
function failures({ record, surface }: ShowInput): Line[] {
  const failed = record.nodes.filter((node) => node.errors.length > 0 && isTrouble(node))
  const lines: Line[] = failed
    .slice(0, failuresShown)
    .flatMap((node) => [[], ...errorsOf(node, surface)])
  const more = failed.length - failuresShown
  if (more > 0)
    lines.push([], [span(`  and ${plural(more, 'more job')} with errors; --json has all`, 'dim')])
  return lines
}

export function errorsOf(node: NodeRecord, { symbols }: Pick<Surface, 'symbols'>): Line[] {
  const word = nodeWord(node)
  const { errors } = node
  const isGood = node.state === 'succeeded'
  const times = isGood || errors.length > 1 ? `  ${plural(errors.length, 'attempt')} failed` : ''
  const then = isGood ? ', then it succeeded' : ''
  return [
    [
      span(`  ${nodeSymbol(word, symbols)} `, nodeStyle(word)),
      span(printable(node.name), 'bold'),
      span(times + then, 'dim'),
    ],
    ...errors.flatMap((error, i) => {
      const number = errors.length > 1 ? `${i + 1}. ` : ''
      return failureLines(fromErrorRecord(error), number, i === errors.length - 1)
    }),
  ]
}

export function logLines(log: readonly LogLine[], { record }: ShowInput): Line[] {
  if (log.length === 0) return [[], [span('  Nothing was logged.', 'dim')]]
  const width = log.reduce((most, { at }) => Math.max(most, sinceStart(record, at).length), 0)
  return [
    [],
    [span('  LOG', 'dim')],
    ...log.flatMap(({ node, at, text }) =>
      printableLines(text).map((line, i): Line => [
        span(`  ${(i === 0 ? sinceStart(record, at) : '').padStart(width)}  `, 'dim'),
        span(`${printable(node)}: `, 'dim'),
        span(line),
      ]),
    ),
  ]
}
