/** `heddle runs list`: what was run, newest first. */
import type { Journal, RunSummary } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { formatAge, formatDuration } from '../view/format.ts'
import { span, type Line } from '../view/line.ts'
import { printable, truncate } from '../view/text.ts'
import { look, type LookSettings, type Surface } from './look.ts'
import { countsText, outcomeOf, outcomeStyles, outcomeSymbol, type StateChoice } from './outcome.ts'
import { resumeHint } from './resume-hint.ts'
import { table, type Column } from './table.ts'
import { formatAgo, formatDateTime } from './times.ts'

export interface ListSettings extends LookSettings {
  readonly state: StateChoice | undefined
  readonly limit: number
}

/** *Cancellation*: none; it reads one list. */
export function listRuns(settings: ListSettings): Promise<void> {
  return look(settings, async (surface): Promise<ExitCode> => {
    // One more than is shown tells whether there are more.
    const found = await select(surface.journal, { ...settings, limit: settings.limit + 1 })
    const runs = found.slice(0, settings.limit)
    if (surface.json) {
      const listed = runs.map((run) => ({ ...run, outcome: outcomeOf(run) }))
      surface.answer({ ok: true, journal: surface.address, runs: listed })
      return exitCodes.ok
    }
    surface.tell(
      listLines(runs, { state: settings.state, more: found.length > runs.length }, surface),
    )
    return exitCodes.ok
  })
}

async function select(
  journal: Pick<Journal, 'runs'>,
  { state, limit }: Pick<ListSettings, 'state' | 'limit'>,
): Promise<readonly RunSummary[]> {
  if (state !== 'succeeded' && state !== 'failed') {
    return journal.runs({ limit, ...(state !== undefined && { state }) })
  }
  // The journal does not know how a run ended, only that it has.
  const finished = await journal.runs({ state: 'finished' })
  return finished.filter((run) => outcomeOf(run) === state).slice(0, limit)
}

const longestTitle = 32
/** In less columns the time of day is left out: the id has it too, in UTC. */
const wideEnough = 110

interface ListColumn extends Column {
  cell(run: RunSummary, surface: Surface): Line
}

const columns: readonly ListColumn[] = [
  { title: 'RUN', cell: ({ id }) => [span(id)] },
  {
    title: 'TITLE',
    cell: ({ title }, { symbols }) => {
      return [span(truncate(printable(title), longestTitle, symbols.ellipsis), 'bold')]
    },
  },
  {
    title: 'STATE',
    cell: (run, { symbols }) => {
      const outcome = outcomeOf(run)
      return [span(`${outcomeSymbol(outcome, symbols)} ${outcome}`, outcomeStyles[outcome])]
    },
  },
  { title: 'STARTED', cell: ({ startedAt }) => [span(formatDateTime(startedAt))] },
  { title: '', cell: ({ startedAt }, { now }) => [span(formatAgo(now - startedAt), 'dim')] },
  { title: 'TOOK', align: 'right', cell: (run, { now }) => [span(took(run, now))] },
  { title: 'JOBS', cell: ({ counts }) => [span(countsText(counts))] },
]

const timeOfDay = columns.findIndex(({ title }) => title === 'STARTED')

function columnsFor({ columns: room = Infinity }: Surface): readonly ListColumn[] {
  if (room >= wideEnough) return columns
  return columns
    .filter((_, i) => i !== timeOfDay)
    .map((column, i) => (i === timeOfDay ? { ...column, title: 'STARTED' } : column))
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
  const shown = columnsFor(surface)
  const [head = [], ...rows] = table(
    shown,
    runs.map((run) => shown.map((column) => column.cell(run, surface))),
    surface,
  )
  const lines: Line[] = [head]
  for (const [i, run] of runs.entries()) {
    lines.push(rows[i]!)
    if (run.state !== 'interrupted') continue
    const hint = `${' '.repeat(run.id.length)}  go on with: ${printable(resumeHint(run, surface.address))}`
    // Not cut: it is there to be copied.
    lines.push([span(hint, 'cyan')])
  }
  if (more) {
    const { length } = runs
    lines.push([span(`The newest ${length}; --limit ${length * 5} shows more.`, 'dim')])
  }
  return lines
}

/** Of one that was interrupted nobody knows it, of one that goes on nobody knows it yet. */
function took({ state, startedAt, endedAt }: RunSummary, now: number): string {
  if (state === 'interrupted') return '?'
  if (endedAt !== undefined) return formatDuration(endedAt - startedAt)
  return `> ${formatAge(now - startedAt)}`
}
