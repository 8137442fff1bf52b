/** `heddle runs list`: what was run, newest first. */
import type { Journal, RunSummary } from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { formatAge, formatDuration } from '../view/format.ts'
import { span, type Line } from '../view/line.ts'
import { printable, truncate } from '../view/text.ts'
import { look, type LookSettings, type Surface } from './look.ts'
import { countsText, outcomeOf, outcomeStyles, outcomeSymbol, type StateChoice } from './outcome.ts'
import { resumeHint } from './resume-hint.ts'
import { table } from './table.ts'
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
const columns = [
  { title: 'RUN' },
  { title: 'TITLE' },
  { title: 'STATE' },
  { title: 'STARTED' },
  { title: '' },
  { title: 'TOOK', align: 'right' },
  { title: 'JOBS' },
] as const

export function listLines(
  runs: readonly RunSummary[],
  { state, more }: { readonly state: StateChoice | undefined; readonly more: boolean },
  surface: Surface,
): Line[] {
  if (runs.length === 0) {
    const which = state === undefined ? '' : ` that is ${state}`
    return [[span(`There is no run${which} in ${surface.address}.`)]]
  }
  const [head = [], ...rows] = table(
    columns,
    runs.map((run) => cells(run, surface)),
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

function cells(run: RunSummary, { symbols, now }: Surface): Line[] {
  const outcome = outcomeOf(run)
  return [
    [span(run.id)],
    [span(truncate(printable(run.title), longestTitle, symbols.ellipsis), 'bold')],
    [span(`${outcomeSymbol(outcome, symbols)} ${outcome}`, outcomeStyles[outcome])],
    [span(formatDateTime(run.startedAt))],
    [span(formatAgo(now - run.startedAt), 'dim')],
    [span(took(run, now))],
    [span(countsText(run.counts))],
  ]
}

/** Of one that was interrupted nobody knows it. */
function took({ state, startedAt, endedAt }: RunSummary, now: number): string {
  if (state === 'interrupted') return '?'
  if (endedAt !== undefined) return formatDuration(endedAt - startedAt)
  return `${formatAge(now - startedAt)} so far`
}
