/** One node in text: everything that is known of it. */
import {
  type AttemptRecord,
  type InputRecord,
  type NodeRecord,
  nodeWord,
  queueTime,
  quoteWord,
  runTime,
} from '@heddle/core/lowlevel'
import { formatDuration, plural } from '../text/format.ts'
import { span, type Line } from '../text/line.ts'
import { printable } from '../text/terminal-text.ts'
import { nodeStyle, nodeSymbol } from './node-state.ts'
import { errorsOf, field, sinceStart, titleLine, type ShowInput } from './show-view.ts'
import { table } from './column-table.ts'
import { signalsOf, waitText } from './waits.ts'

const columns = [
  { title: '  ATTEMPT' },
  { title: 'QUEUED', align: 'right' },
  { title: 'STARTED', align: 'right' },
  { title: 'RAN', align: 'right' },
  { title: 'OUTCOME' },
] as const

/** `made`: the input of its last attempt, where one was recorded. */
export function nodeLines(node: NodeRecord, input: ShowInput, made?: InputRecord): Line[] {
  const { record, criticalPath, surface } = input
  const word = nodeWord(node)
  const slack = criticalPath.slackOf(node.name)
  const lines: Line[] = [
    titleLine(input),
    field('run', span(`${record.id} in ${printable(surface.address)}`)),
    [],
    [
      span(`${nodeSymbol(word, surface.symbols)} `, nodeStyle(word)),
      span(printable(node.name), 'bold'),
      span('  '),
      span(word, nodeStyle(word)),
    ],
    field('job', span(`${printable(node.job)} on the ${node.place}`)),
    field('after', span(neighbours(node.after, input) || 'nothing')),
    field('before', span(neighbours(dependentsOf(node, input), input) || 'nothing')),
  ]
  if (node.blockedBy !== undefined) {
    lines.push(field('blocked by', span(`"${printable(node.blockedBy)}"`)))
  }
  const waits = word === 'suspended' ? waitText(node) : ''
  if (waits !== '') lines.push(field('now', span(waits)))
  const [signal] = word === 'suspended' ? signalsOf([node]) : []
  if (signal !== undefined) {
    const send = `heddle runs send ${record.id} ${quoteWord(signal)} VALUE`
    lines.push(field('continue with', span(printable(send), 'cyan')))
  }
  if (node.attempts.length > 0) {
    const queued = formatDuration(queueTime(node, record.until))
    lines.push(field('time', span(`queued ${queued}, ran ${formatDuration(runTime(node))}`)))
  }
  if (slack !== undefined) {
    const text = slack === 0 ? 'none: it is on a critical path' : formatDuration(slack)
    lines.push(field('slack', span(text)))
  }
  if (made !== undefined) lines.push(field('input', span(inputText(made))))
  if (node.hasValue) {
    const command = `heddle runs show ${record.id} --value ${JSON.stringify(node.name)}`
    lines.push(field('result', span(printable(command), 'cyan')))
  }
  if (node.attempts.length > 0) {
    const rows = node.attempts.map((attempt) => attemptCells(attempt, input))
    lines.push([], ...table(columns, rows, surface))
  }
  if (node.errors.length > 0) lines.push([], ...errorsOf(node, surface))
  return lines
}

/** Characters of an input that are shown: some lines of a terminal. */
const inputShown = 400

function inputText({ text, isCut }: InputRecord): string {
  const isLonger = isCut === true || text.length > inputShown
  return printable(text.slice(0, inputShown)) + (isLonger ? '…' : '')
}

function attemptCells(attempt: AttemptRecord, { record }: ShowInput): Line[] {
  const { number, queuedAt, startedAt, endedAt, outcome } = attempt
  const style = nodeStyle(outcome)
  return [
    [span(`  ${number}`)],
    [span(formatDuration(startedAt - queuedAt))],
    [span(sinceStart(record, startedAt))],
    [span(formatDuration(endedAt - startedAt))],
    [span(outcome, style)],
  ]
}

function dependentsOf({ name }: NodeRecord, { record }: ShowInput): string[] {
  return record.nodes.filter(({ after }) => after.includes(name)).map((node) => node.name)
}

const neighboursShown = 8

function neighbours(names: readonly string[], { record, surface }: ShowInput): string {
  const byName = new Map(record.nodes.map((node) => [node.name, node]))
  const shown = names.slice(0, neighboursShown).map((name) => {
    const node = byName.get(name)
    const symbol = node === undefined ? '?' : nodeSymbol(nodeWord(node), surface.symbols)
    return `${symbol} ${printable(name)}`
  })
  const more = names.length - shown.length
  return [...shown, ...(more > 0 ? [plural(more, 'more job')] : [])].join(', ')
}
