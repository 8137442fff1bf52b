/** The rows of a run: the points that `--at` can go to. */
import { type HistoryEntry, type Journal, type RunRecord } from '@heddle/core/lowlevel'
import { formatDuration, plural } from '../text/format.ts'
import { span, type Line } from '../text/line.ts'
import { stateStyles } from '../text/symbols.ts'
import { printable, printableLines } from '../text/terminal-text.ts'
import { sinceStart, type ShowInput } from './show-view.ts'
import { table } from './column-table.ts'

/**
 * Rows up to the record's last one, of one node or of all.
 *
 * *Cancellation*: none; it reads the current state.
 */
export async function readHistory(
  journal: Pick<Journal, 'history'>,
  { id, position }: Pick<RunRecord, 'id' | 'position'>,
  node: string | undefined,
): Promise<HistoryEntry[]> {
  const rows: HistoryEntry[] = []
  for await (const entry of journal.history(id)) {
    if (entry.position > position) break
    const isWanted = node === undefined || ('node' in entry && entry.node === node)
    if (isWanted) rows.push(entry)
  }
  return rows
}

const columns = [
  { title: '  ROW', align: 'right' },
  { title: 'AT', align: 'right' },
  { title: 'WHAT' },
  { title: '' },
  { title: '' },
] as const

export function historyLines(
  rows: readonly HistoryEntry[],
  { record, surface }: ShowInput,
): Line[] {
  return [
    [],
    ...table(
      columns,
      rows.map((row) => [
        [span(`  ${row.position}`)],
        [span(sinceStart(record, row.at), 'dim')],
        ...cellsOf(row),
      ]),
      surface,
    ),
  ]
}

function cellsOf(row: HistoryEntry): Line[] {
  switch (row.kind) {
    case 'nodes':
      return [[span('graph')], [span(`${plural(row.added.length, 'job')} added`)]]
    case 'run': {
      const by = row.by === undefined ? '' : `pid ${row.by.pid} on ${printable(row.by.host)}`
      return [[span('run')], [span(row.state)], [span(by, 'dim')]]
    }
    case 'log':
      return [[span(printable(row.node))], [span('log', 'dim')], [span(firstLine(row.text))]]
    case 'node':
      return [[span(printable(row.node))], [span(row.state, stateStyles[row.state])], remark(row)]
    case 'part': {
      // An empty path only says that earlier failures of parts do not stand any more.
      const name = row.part.path === '' ? row.node : `${row.node} ${decoded(row.part.path)}`
      return [[span(printable(name))], [span(row.state, stateStyles[row.state])], remark(row)]
    }
  }
}

/** Names in a path are written as in an address: `run:charge%20card#0`. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function remark(row: HistoryEntry & { readonly kind: 'node' | 'part' }): Line {
  const { state, attempt, delay, error, blockedBy } = row
  const parts = [
    state === 'running' && attempt > 0 ? `attempt ${attempt + 1}` : '',
    blockedBy === undefined ? '' : `by "${printable(blockedBy)}"`,
    delay === undefined ? '' : `in ${formatDuration(delay)}`,
    error === undefined ? '' : firstLine(`${error.name}: ${error.message}`),
  ]
  return [span(parts.filter((part) => part !== '').join(', '), 'dim')]
}

function firstLine(text: string): string {
  return printableLines(text)[0] ?? ''
}
