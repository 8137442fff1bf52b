/** Which nodes are shown, and one line for each. */
import { groupFrom, type JobRow, type NodeRow, type RunModel } from '../model/run-model.ts'
import { formatAge, formatCount, formatDuration, formatRunning, plural } from '../text/format.ts'
import { span, textOf, type Line, type Span } from '../text/line.ts'
import { stateStyles, type Symbols } from '../text/symbols.ts'
import { pad, truncate, truncateWords, widthOf } from '../text/terminal-text.ts'
import type { Filter, UiState } from './ui-state.ts'
import type { Viewport } from './viewport.ts'

/** A node with a remark; nodes of one job in one line; or a line for omitted nodes. */
type Entry =
  | { readonly row: NodeRow; readonly why?: string }
  | {
      readonly group: JobRow
      readonly state: NodeRow['state']
      readonly row: NodeRow
      readonly why?: string
    }
  | { readonly more: string }

/**
 * A column of names takes at most this share of the width. A longer name is not cut: it shifts the rest of its line.
 */
const nameShare = 0.45
const longestName = 40

/** A narrower terminal drops the place of a job: the remark matters more. */
const columnsForPlace = 60

/** At most `room` lines about nodes. */
export function nodeLines(model: RunModel, ui: UiState, viewport: Viewport, room: number): Line[] {
  if (room <= 0) return []
  const entries =
    ui.view === 'all' ? everyNode(model, ui, room) : windowOf(model, ui.filter, viewport, room)
  const { columns, symbols } = viewport
  const names = entries.map((entry) => ('row' in entry ? widthOf(nameOf(entry, symbols)) : 0))
  const limit = Math.max(1, Math.min(longestName, Math.floor(columns * nameShare)))
  const nameWidth = Math.max(0, ...names.filter((width) => width <= limit))
  const ages = entries.map((entry) => ('row' in entry ? widthOf(ageOf(entry.row, viewport)) : 0))
  const layout: Layout = {
    nameWidth,
    ageWidth: Math.max(shortestAge, ...ages),
    hasPlace: columns >= columnsForPlace,
  }
  return entries.map((entry) =>
    'more' in entry ? [span(`  ${entry.more}`, 'dim')] : nodeLine(entry, layout, viewport),
  )
}

/** The layout shared by all lines of one picture. */
interface Layout {
  readonly nameWidth: number
  readonly ageWidth: number
  readonly hasPlace: boolean
}

/** The additional layout of one line. */
interface LineLayout extends Layout {
  /** Columns that are left beside its name. */
  readonly room: number
}

type NodeEntry = Exclude<Entry, { readonly more: string }>

/** `fetch asia`, or `fetch ×16` for all nodes of a job that are in one state. */
function nameOf(entry: NodeEntry, { times }: Symbols): string {
  if (!('group' in entry)) return entry.row.name
  const { name, counts } = entry.group
  return `${name} ${times}${formatCount(counts[entry.state])}`
}

function nodeLine(entry: NodeEntry, layout: Layout, viewport: Viewport): Line {
  const { row, why } = entry
  const { symbols, columns } = viewport
  const state = 'group' in entry ? entry.state : row.state
  const style = stateStyles[state]
  const name = pad(
    truncate(nameOf(entry, symbols), Math.max(0, columns - 2), symbols.ellipsis),
    layout.nameWidth,
  )
  const named = [span(`${symbols.states[state]} `, style), span(name)]
  const room = columns - 2 - widthOf(name) - 2
  if (room + 2 < leastDetails) return named
  const details =
    why !== undefined
      ? [span(why, 'dim')]
      : 'group' in entry
        ? groupDetails(entry.group, row, viewport, layout)
        : detailsOf(row, viewport, { ...layout, room })
  return [...named, span('  '), ...details]
}

/** Beside a long name there is nothing where not even a short word fits. */
const leastDetails = 6

const placeWidth = 'thread'.length
const shortestAge = '59.9 s'.length

/** How long a node runs or is suspended; empty for others. */
function ageOf({ state, startedAt }: NodeRow, { now }: Viewport): string {
  return state === 'running' || state === 'suspended' ? formatRunning(now - (startedAt ?? now)) : ''
}

/** Where it runs, and for how long. */
function runningSpans(row: NodeRow, viewport: Viewport, { ageWidth, hasPlace }: Layout): Span[] {
  const place = hasPlace ? [span(`${row.place.padEnd(placeWidth)} `, 'dim')] : []
  return [...place, span(ageOf(row, viewport).padStart(ageWidth))]
}

/** The oldest of the running nodes says how long: `longest 4.1 s · 97 of 200 done`. */
function groupDetails(group: JobRow, oldest: NodeRow, viewport: Viewport, layout: Layout): Span[] {
  const { counts, total } = group
  const failed = counts.failed === 0 ? '' : `, ${formatCount(counts.failed)} failed`
  const [done, of] = [formatCount(counts.succeeded), formatCount(total)]
  const progress = layout.hasPlace ? `${done} of ${of} done${failed}` : `${done}/${of}${failed}`
  return [
    ...runningSpans(oldest, viewport, layout),
    span(`  ${progress}`),
    { ...span(` ${viewport.symbols.dot} the longest: ${oldest.name}`, 'dim'), optional: true },
  ]
}

function detailsOf(row: NodeRow, viewport: Viewport, layout: LineLayout): Span[] {
  const { now } = viewport
  const { dot } = viewport.symbols
  switch (row.state) {
    case 'running': {
      const running = runningSpans(row, viewport, layout)
      const used = layout.room - widthOf(textOf(running)) - 2
      const progress =
        row.progress === undefined ? [] : [span(`  ${progressText(row.progress, used)}`)]
      const parts = partSpans(row, dot)
      if (row.attempt === 0) return [...running, ...progress, ...parts]
      const problem = row.problem === undefined ? '' : ` ${dot} after ${row.problem}`
      return [...running, ...progress, span(`  attempt ${attemptOf(row)}${problem}`, 'yellow')]
    }
    case 'retrying': {
      const left = formatAge((row.retryAt ?? now) - now)
      const text = `attempt ${attemptOf(row)} in ${left}`
      return [span(text, 'yellow'), span(` ${dot} ${row.problem ?? ''}`)]
    }
    case 'failed': {
      const blocks = row.blocks === 0 ? '' : ` ${dot} blocks ${plural(row.blocks, 'job')}`
      const problem = firstFitting(problemForms(row), layout.room)
      return [span(problem, 'red'), span(`${blocks} ${dot} ${took(row)}`, 'dim')]
    }
    case 'succeeded': {
      if (row.reused) return [span('finished by an earlier run', 'dim')]
      const attempts = row.attempt === 0 ? '' : ` ${dot} ${plural(row.attempt + 1, 'attempt')}`
      return [span(`${took(row)}${attempts}`, 'dim')]
    }
    case 'cancelled':
      return [span(`stopped after ${took(row)}`, 'dim')]
    case 'blocked':
      return [span(firstFitting(blockedForms(row), layout.room), 'dim')]
    case 'suspended': {
      const [text, style] =
        row.progress === undefined
          ? ([row.waitsFor ?? 'suspended', 'dim'] as const)
          : ([row.progress, undefined] as const)
      if (layout.hasPlace) {
        const running = [...runningSpans(row, viewport, layout), span('  ')]
        const waits = firstFitting(waitForms(text), layout.room - widthOf(textOf(running)))
        return [...running, span(waits, style)]
      }
      // In a narrow terminal the word that counts, the name of a signal for instance, goes before the time.
      const waits = firstFitting(waitForms(text), layout.room)
      return [span(waits, style), { ...span(`  ${ageOf(row, viewport)}`, 'dim'), optional: true }]
    }
    case 'waiting':
    case 'ready':
    case 'skipped':
      return [span(row.state, 'dim')]
  }
}

/** How many elements or steps run, and how many wait. */
function partSpans({ isSuspended, activity, parts }: NodeRow, dot: string): Span[] {
  if (!isSuspended || activity === undefined || parts === undefined) return []
  const { running, waiting, suspended } = activity
  const counts = [
    [running, 'running'],
    [waiting, 'waiting'],
    [suspended, 'suspended'],
  ] as const
  const text = counts.flatMap(([n, word]) => (n === 0 ? [] : [`${formatCount(n)} ${word}`]))
  // The state says that its one step runs.
  if (running + waiting + suspended < 2) return []
  return [{ ...span(` ${dot} ${text.join(', ')}`, 'dim'), optional: true }]
}

/** Descriptions of a wait, from the longest to the shortest. */
function waitForms(text: string): string[] {
  const [, name] = /^waits for the signal (".*?")/.exec(text) ?? []
  if (name !== undefined) return [text, `signal ${name}`, name]
  const [, until] = /^sleeps (until .+)$/.exec(text) ?? []
  if (until === undefined) return [text]
  return [text, until, until.replace(/\d{4}-(\d\d-\d\d \d\d:\d\d).*/, '$1')]
}

/** `49 %: 97 of 200`; only the percentage where not even the first figure behind it fits. */
function progressText(progress: string, room: number): string {
  const [, percent] = /^(\d+ %): /.exec(progress) ?? []
  if (percent === undefined || widthOf(progress) <= room) return progress
  return /\d/.test(truncateWords(progress, room).slice(percent.length)) ? progress : percent
}

function blockedForms({ blockedBy = '' }: NodeRow): string[] {
  return [`blocked by "${blockedBy}"`, `by "${blockedBy}"`]
}

/** Why a node failed; the name of a map is in its row already. */
function problemForms({ problem = 'failed' }: NodeRow): string[] {
  const [, cause] = /^Element .+? failed(?:, the last of \d+)?: (.+)$/s.exec(problem) ?? []
  return cause === undefined ? [problem] : [problem, cause]
}

/** The last form may be cut. */
function firstFitting(forms: readonly string[], room: number): string {
  return forms.find((form) => widthOf(form) <= room) ?? forms.at(-1)!
}

function attemptOf({ attempt, retries }: NodeRow): string {
  return Number.isFinite(retries) ? `${attempt + 1} of ${retries + 1}` : `${attempt + 1}`
}

function took({ startedAt, endedAt }: NodeRow): string {
  if (startedAt === undefined || endedAt === undefined) return 'not started'
  return formatDuration(endedAt - startedAt)
}

const nothing: Readonly<Record<Filter, string>> = {
  all: 'no jobs',
  active: 'nothing is running',
  failed: 'nothing has failed',
}

/** Nodes of a filter, and how many there are: the whole graph is not walked for a frame. */
interface Selection {
  readonly lists: readonly Iterable<NodeRow>[]
  readonly size: number
}

function select(model: RunModel, filter: Filter): Selection {
  const { counts } = model
  switch (filter) {
    case 'all':
      return { lists: [model.rows], size: model.total }
    case 'active':
      return {
        lists: [model.in('running'), model.in('suspended'), model.in('retrying')],
        size: counts.running + counts.suspended + counts.retrying,
      }
    case 'failed':
      return {
        lists: [model.in('failed'), model.in('cancelled'), model.in('blocked')],
        size: counts.failed + counts.cancelled + counts.blocked,
      }
  }
}

function page({ lists }: Selection, offset: number, count: number): Entry[] {
  const entries: Entry[] = []
  let position = 0
  for (const list of lists) {
    for (const row of list) {
      if (entries.length >= count) return entries
      if (position++ >= offset) entries.push({ row })
    }
  }
  return entries
}

/** The view `all`: a page of the whole list. */
function everyNode(model: RunModel, { filter, offset }: UiState, room: number): Entry[] {
  const selection = select(model, filter)
  const { size } = selection
  if (size === 0) return [{ more: nothing[filter] }]
  if (size <= room) return page(selection, 0, room)
  const first = Math.max(0, Math.min(offset, size - (room - 1)))
  const entries = page(selection, first, room - 1)
  const range = `${formatCount(first + 1)} to ${formatCount(first + entries.length)}`
  return [...entries, { more: `${range} of ${formatCount(size)}: up, down, page, home, end` }]
}

/** How many rows each group gets, where there is something to show and room for it. */
const troubleShown = 5
const recentShown = 5
const waitingShown = 4

/** The view `window`: trouble, then the past, the present and the future of the run. */
function windowOf(model: RunModel, filter: Filter, viewport: Viewport, room: number): Entry[] {
  if (filter !== 'all') {
    const selection = select(model, filter)
    return selection.size === 0 ? [{ more: nothing[filter] }] : cut(selection, room, filter)
  }
  const active = activeEntries(model, room)
  const upcoming = waitingEntries(viewport)
  const troubles = model.counts.failed + model.counts.cancelled
  let left = room
  const take = (wanted: number): number => {
    const got = Math.max(0, Math.min(wanted, left))
    left -= got
    return got
  }
  // In order of importance; remaining rows go to active nodes.
  const troubleRoom = take(Math.min(troubles, troubleShown, Math.ceil(room / 3)))
  const activeRoom = take(Math.min(active.size, Math.max(Math.ceil(room / 2), room - 8)))
  const waitingRoom = take(Math.min(upcoming.length, waitingShown))
  const recentRoom = take(Math.min(model.recent.size, recentShown))
  const moreActive = activeRoom + take(active.size - activeRoom)
  const moreWaiting = waitingRoom + take(upcoming.length - waitingRoom)
  return [
    ...lastTroubles(model, troubles, troubleRoom),
    ...model.recent.last(recentRoom).map((row) => ({ row })),
    ...cutActive(active, moreActive),
    ...upcoming.slice(0, moreWaiting),
  ]
}

interface ActiveEntries {
  readonly entries: readonly Entry[]
  /** How many lines all of it would take. */
  readonly size: number
}

/** What is under way, at most a screen of it: jobs with many running nodes in one line each. */
function activeEntries(model: RunModel, room: number): ActiveEntries {
  const groups: Entry[] = []
  const single: Entry[] = []
  let grouped = 0
  for (const job of model.runningJobs) {
    const [oldest] = job.running
    if (job.running.size >= groupFrom) {
      grouped += job.running.size
      groups.push({ group: job, state: 'running', row: oldest! })
    } else if (single.length < room) for (const row of job.running) single.push({ row })
  }
  // Groups first: a screen of few rows must not count most of the work among "and 6 more".
  const entries = [...groups, ...single]
  for (const state of ['suspended', 'retrying'] as const) {
    for (const row of model.in(state)) {
      if (entries.length >= room) break
      entries.push({ row })
    }
  }
  const { running, suspended, retrying } = model.counts
  return { entries, size: running - grouped + groups.length + suspended + retrying }
}

function cutActive({ entries, size }: ActiveEntries, room: number): readonly Entry[] {
  if (size <= room) return entries
  if (room === 0) return []
  const shown = entries.slice(0, room - 1)
  return [...shown, { more: `and ${formatCount(size - shown.length)} more under way` }]
}

/**
 * What comes next; of a job with many nodes in one state only the first. When that one has left the state since it was
 * asked for, the others are still there: the line of the group stays.
 */
function waitingEntries({ waiting }: Viewport): Entry[] {
  const entries: Entry[] = []
  const seen = new Set<string>()
  for (const { row, state, text } of waiting) {
    if (row.job.counts[state] < groupFrom) {
      // The reason of a waiting node is not true for a ready one: the next answer comes soon.
      if (row.state === state) entries.push({ row, why: text })
      continue
    }
    const group = `${state} ${row.job.name}`
    if (seen.has(group)) continue
    seen.add(group)
    entries.push({ group: row.job, state, row, why: text })
  }
  return entries
}

/** The first rows, with a line for the others. */
function cut(selection: Selection, room: number, what: string): Entry[] {
  if (selection.size <= room) return page(selection, 0, room)
  if (room === 0) return []
  const shown = page(selection, 0, room - 1)
  return [...shown, { more: `and ${formatCount(selection.size - shown.length)} more ${what}` }]
}

/** The last troubles, with a line for the older ones. */
function lastTroubles(model: RunModel, count: number, room: number): Entry[] {
  const rows = (shown: number): Entry[] => model.trouble.last(shown).map((row) => ({ row }))
  if (count <= room) return rows(room)
  if (room === 0) return []
  const shown = rows(room - 1)
  const more = formatCount(count - shown.length)
  const text =
    model.counts.cancelled === 0
      ? `${more} more failed (f shows them)`
      : `${more} more failed or stopped: press f`
  return [{ more: text }, ...shown]
}
