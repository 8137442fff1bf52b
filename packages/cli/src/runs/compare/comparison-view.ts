/** A comparison in text. */
import {
  type Change,
  type Comparison,
  describeDifference,
  durationOf,
  type GraphDifference,
  type NodeChange,
  noise,
  type Side,
} from '@heddle/core/lowlevel'
import { formatCount, formatDuration, plural } from '../../text/format.ts'
import { span, type Line, type Style } from '../../text/line.ts'
import { printable, truncate } from '../../text/terminal-text.ts'
import type { Surface } from '../with-journal.ts'
import { nodeStyle } from '../node-state.ts'
import { outcomeStyles, outcomeSymbol } from '../outcome-text.ts'
import { table } from '../column-table.ts'
import { formatDateTime } from '../../text/times.ts'

type ComparisonSurface = Pick<Surface, 'symbols' | 'columns'>

const rowsShown = 20
const longestName = 40

export function comparisonLines(
  comparison: Comparison,
  all: boolean,
  surface: ComparisonSurface,
): Line[] {
  const { nodes, a, b } = comparison
  const slower = nodes.filter(({ change }) => change > 0)
  const faster = nodes.filter(({ change }) => change < 0)
  return [
    ...sides(a, b, surface),
    [],
    ...totals(comparison, surface),
    ...changes('SLOWER', slower, all, surface),
    ...changes('FASTER', faster, all, surface),
    ...outcomes(comparison, all, surface),
    ...graph(comparison, all),
    ...limits(comparison, surface),
    ...sameness(comparison),
  ]
}

const sideColumns = ['', 'RUN', 'TITLE', 'STATE', 'STARTED'].map((title) => ({ title }))

function sides(a: Side, b: Side, surface: ComparisonSurface): Line[] {
  const cells = (letter: string, { record, outcome }: Side): Line[] => [
    [span(letter, 'bold')],
    [span(record.id)],
    [span(truncate(printable(record.title), longestName, surface.symbols.ellipsis), 'bold')],
    [span(`${outcomeSymbol(outcome, surface.symbols)} ${outcome}`, outcomeStyles[outcome])],
    [span(formatDateTime(record.startedAt))],
  ]
  return table(sideColumns, [cells('A', a), cells('B', b)], surface)
}

const changeColumns = (first: string) =>
  [
    { title: first },
    { title: 'A', align: 'right' },
    { title: 'B', align: 'right' },
    { title: 'CHANGE', align: 'right' },
    { title: '', align: 'right' },
    { title: 'ON THE TOTAL', align: 'right' },
  ] as const

function totals({ total, criticalPath }: Comparison, surface: ComparisonSurface): Line[] {
  const rows = [
    [[span('total')], ...changeCells(total)],
    [[span('critical path')], ...changeCells(criticalPath)],
  ]
  return table(changeColumns('').slice(0, -1), rows, surface)
}

function changeCells(change: Change): Line[] {
  const style = styleOf(change.change)
  return [
    [span(formatDuration(change.before))],
    [span(formatDuration(change.now))],
    [span(signed(change.change), style)],
    [span(percentText(change), style)],
  ]
}

function styleOf(change: number): Style {
  return change > 0 ? 'red' : change < 0 ? 'green' : 'dim'
}

/** `+1.2 s`, `-30 ms`. */
function signed(ms: number): string {
  if (Math.round(ms) === 0) return '0 ms'
  return `${ms < 0 ? '-' : '+'}${formatDuration(Math.abs(ms))}`
}

function percentText({ percent }: Change): string {
  if (percent === null) return ''
  const rounded = Math.round(percent)
  return `${rounded > 0 ? '+' : ''}${formatCount(rounded === 0 ? 0 : rounded)} %`
}

function changes(
  title: string,
  nodes: readonly NodeChange[],
  all: boolean,
  surface: ComparisonSurface,
): Line[] {
  if (nodes.length === 0) return []
  const shown = all ? nodes : nodes.slice(0, rowsShown)
  const rows = shown.map((node): Line[] => [
    [span(truncate(printable(node.node), longestName, surface.symbols.ellipsis))],
    ...changeCells(node),
    [effectText(node)],
  ])
  return [[], ...table(changeColumns(title), rows, surface), ...more(nodes.length - shown.length)]
}

function effectText({ effect }: NodeChange): Line[number] {
  if (effect === null) return span('?', 'dim')
  if (Math.round(effect) === 0) return span('none', 'dim')
  return span(signed(effect), styleOf(effect))
}

function more(count: number): Line[] {
  return count > 0 ? [[span(`and ${formatCount(count)} more; --all shows them`, 'dim')]] : []
}

function outcomes(
  { outcomes: changed }: Comparison,
  all: boolean,
  { symbols }: ComparisonSurface,
): Line[] {
  if (changed.length === 0) return []
  const shown = all ? changed : changed.slice(0, rowsShown)
  return [
    [],
    [span('OUTCOME', 'dim')],
    ...shown.map((each): Line => [
      span(`${printable(each.node)}: `),
      span(each.before, nodeStyle(each.before)),
      span(tookText(each.durations[0]), 'dim'),
      span(` ${symbols.arrow} `),
      span(each.now, nodeStyle(each.now)),
      span(tookText(each.durations[1]), 'dim'),
    ]),
    ...more(changed.length - shown.length),
  ]
}

function tookText(ms: number | null): string {
  return ms === null ? '' : ` in ${formatDuration(ms)}`
}

function graph({ graph: differences, a, b }: Comparison, all: boolean): Line[] {
  if (differences.length === 0) return []
  const shown = all ? differences : differences.slice(0, rowsShown)
  return [
    [],
    [span('GRAPH', 'dim')],
    ...shown.map((difference): Line => [
      span(printable(describeDifference(difference))),
      span(durationText(difference, a, b), 'dim'),
    ]),
    ...more(differences.length - shown.length),
  ]
}

function limits({ limits: changed }: Comparison, { symbols }: ComparisonSurface): Line[] {
  if (changed.length === 0) return []
  const show = (value: unknown): string => printable(JSON.stringify(value) ?? 'the default')
  return [
    [],
    [span('LIMITS', 'dim')],
    ...changed.map(({ limit, before, now }): Line => {
      return [span(`${printable(limit)}: ${show(before)} ${symbols.arrow} ${show(now)}`)]
    }),
  ]
}

/** The duration of a node that only one of the two runs has. */
function durationText({ kind, node }: GraphDifference, a: Side, b: Side): string {
  if (kind !== 'added' && kind !== 'removed') return ''
  const { nodes } = (kind === 'added' ? b : a).record
  const found = nodes.find(({ name }) => name === node)
  const ms = found === undefined ? null : durationOf(found)
  return ms === null ? '' : `, ${formatDuration(ms)}`
}

function sameness({ same, nodes }: Comparison): Line[] {
  if (same === 0) return []
  const which = nodes.length === 0 ? plural(same, 'job') : plural(same, 'other job')
  return [
    [],
    [span(`${which} took the same time, within ${noise.percent} % or ${noise.ms} ms`, 'dim')],
  ]
}
