/** `heddle runs list`: runs, newest first. */
import { type Journal, outcomeOf, type RunSummary } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { formatAge, formatDuration } from '../text/format.ts'
import { command, fit, span, textOf, type Line } from '../text/line.ts'
import { printable, truncate, widthOf } from '../text/terminal-text.ts'
import { withJournal, type JournalCommandSettings, type Surface } from './with-journal.ts'
import { countsText, outcomeStyles, outcomeSymbol, type StateChoice } from './outcome-text.ts'
import { resumeHint } from './resume-hint.ts'
import { table, type Column } from './column-table.ts'
import { formatAgo, formatDateTime } from '../text/times.ts'

export interface ListSettings extends JournalCommandSettings {
  readonly state: StateChoice | undefined
  readonly limit: number
}

/** *Cancellation*: none; it reads one list. */
export function listRuns(settings: ListSettings): Promise<void> {
  return withJournal(settings, async (surface): Promise<ExitCode> => {
    // Selects one more than is shown, to know whether there are more.
    const found = await selectRuns(surface.journal, { ...settings, limit: settings.limit + 1 })
    const runs = found.slice(0, settings.limit)
    if (surface.json) {
      const listed = runs.map((run) => ({ ...run, outcome: outcomeOf(run) }))
      surface.answer({ ok: true, journal: surface.address, runs: listed })
      return exitCodes.ok
    }
    surface.printLines(
      listLines(runs, { state: settings.state, more: found.length > runs.length }, surface),
    )
    return exitCodes.ok
  })
}

/**
 * The newest runs of a state, however many others there are.
 *
 * *Cancellation*: none; it reads lists.
 */
export async function selectRuns(
  journal: Pick<Journal, 'runs' | 'list'>,
  { state, limit }: Pick<ListSettings, 'state' | 'limit'>,
): Promise<readonly RunSummary[]> {
  if (state !== 'succeeded' && state !== 'failed') {
    return journal.runs({ limit, ...(state !== undefined && { state }) })
  }
  const runs: RunSummary[] = []
  for (let before: number | undefined; ;) {
    const page = await journal.list({
      outcomes: [state],
      limit: Math.min(limit - runs.length, mostInPage),
      ...(before !== undefined && { before }),
    })
    runs.push(...page.runs.map(({ labels: _labels, ...run }) => run))
    if (page.next === undefined || runs.length >= limit) return runs
    before = page.next
  }
}

/** What a journal takes as the limit of a page. */
const mostInPage = 1_000

/** Columns of a title: at most, and at least as long as there is one at all. */
const longestTitle = 32
const shortestTitle = 8

interface Cells {
  readonly run: RunSummary
  readonly surface: Surface
  readonly titleWidth: number
}

interface ListColumn extends Column {
  cell(cells: Cells): Line
}

const columns = {
  id: { title: 'RUN', cell: ({ run }) => [span(run.id)] },
  title: {
    title: 'TITLE',
    cell: ({ run, surface: { symbols }, titleWidth }) => [
      span(truncate(printable(run.title), titleWidth, symbols.ellipsis), 'bold'),
    ],
  },
  outcome: {
    title: 'STATE',
    cell: ({ run, surface: { symbols } }) => {
      const outcome = outcomeOf(run)
      return [span(`${outcomeSymbol(outcome, symbols)} ${outcome}`, outcomeStyles[outcome])]
    },
  },
  startedAt: { title: 'STARTED', cell: ({ run }) => [span(formatDateTime(run.startedAt))] },
  age: {
    title: '',
    cell: ({ run, surface: { now } }) => [span(formatAgo(now - run.startedAt), 'dim')],
  },
  took: {
    title: 'TOOK',
    align: 'right',
    cell: ({ run, surface: { now } }) => [span(took(run, now))],
  },
  counts: { title: 'JOBS', cell: ({ run }) => [span(countsText(run.counts))] },
} as const satisfies Record<string, ListColumn>

type ColumnName = keyof typeof columns

/**
 * The layouts, from the widest to the narrowest. A narrow terminal goes without the time of day (the id has it too, in
 * UTC), then without how long ago it was, then without how long it took, then without the counts; how it ended is always there.
 */
const layouts: readonly (readonly ColumnName[])[] = [
  ['id', 'title', 'outcome', 'startedAt', 'age', 'took', 'counts'],
  ['id', 'title', 'outcome', 'age', 'took', 'counts'],
  ['id', 'title', 'outcome', 'took', 'counts'],
  ['id', 'title', 'outcome', 'counts'],
  ['id', 'outcome', 'counts'],
  ['id', 'title', 'outcome'],
  ['id', 'outcome'],
]

/** Columns of a layout with a title that is cut rather than left out. */
const mostBesideCutTitle = 4

/** The first layout that fits the terminal. The title is cut before it is left out. */
function fittingTable(runs: readonly RunSummary[], surface: Surface): Line[] {
  const room = surface.columns ?? Infinity
  let lines: Line[] = []
  for (const layout of layouts) {
    lines = draw(runs, layout, surface, longestTitle)
    const excess = widthOfLines(lines) - room
    if (excess <= 0) return lines
    if (!layout.includes('title') || layout.length > mostBesideCutTitle) continue
    const titles = runs.map(({ title }) => widthOf(printable(title)))
    const titleWidth =
      Math.min(
        longestTitle,
        titles.reduce((most, width) => Math.max(most, width), 0),
      ) - excess
    if (titleWidth >= shortestTitle) return draw(runs, layout, surface, titleWidth)
  }
  return lines.map((line) => fit(line, room, surface.symbols.ellipsis))
}

function draw(
  runs: readonly RunSummary[],
  layout: readonly ColumnName[],
  surface: Surface,
  titleWidth: number,
): Line[] {
  const shown: ListColumn[] = layout.map((name) =>
    // Where the column has no time of day, the title stands in the column beside it.
    name === 'age' && !layout.includes('startedAt')
      ? { ...columns.age, title: columns.startedAt.title }
      : columns[name],
  )
  const rows = runs.map((run) => shown.map((column) => column.cell({ run, surface, titleWidth })))
  return table(shown, rows, { symbols: surface.symbols, columns: undefined })
}

function widthOfLines(lines: readonly Line[]): number {
  return lines.reduce((most, line) => Math.max(most, widthOf(textOf(line))), 0)
}

export function listLines(
  runs: readonly RunSummary[],
  { state, more }: { readonly state: StateChoice | undefined; readonly more: boolean },
  surface: Surface,
): Line[] {
  if (runs.length === 0) {
    const which = state === undefined ? '' : ` that is ${state}`
    return [[span(`There is no run${which} in ${surface.address}.`)]]
  }
  const [head = [], ...rows] = fittingTable(runs, surface)
  const lines: Line[] = [head]
  for (const [i, run] of runs.entries()) {
    lines.push(rows[i]!)
    if (run.state !== 'interrupted') continue
    const label = `${' '.repeat(run.id.length)}  resume with: `
    const hint = printable(resumeHint(run, surface.address))
    lines.push([span(label, 'cyan'), command(hint, 'cyan')])
  }
  if (more) {
    const { length } = runs
    lines.push([span(`The newest ${length}; --limit ${length * 5} shows more.`, 'dim')])
  }
  return lines
}

/** Not known for an interrupted run, and not yet known for one that is running. */
function took({ state, startedAt, elapsed }: RunSummary, now: number): string {
  if (state === 'interrupted') return '?'
  if (elapsed !== undefined) return formatDuration(elapsed)
  return `> ${formatAge(now - startedAt)}`
}
