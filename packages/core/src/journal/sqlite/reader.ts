/* oxlint-disable node/no-sync -- runs in a thread of the journal, where waiting is what it is for */
/**
 * The read side of the database.
 *
 * Rows never change, so a long answer is put together from short reads up to a position that is fixed
 * at its start: no read keeps the log from being moved into the database, and answers take turns.
 *
 * A prune hides a run before, or together with, its first row that goes. So what was read of a run is whole when the
 * run is still there afterwards; otherwise the answer is `HDL_UNKNOWN_RUN`, never a part of a run.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { HeddleError } from '../../errors.ts'
import { systemClock } from '../../kernel/clock.ts'
import { decodeValue } from '../encode.ts'
import { CountFold, RunFold, type Counts } from '../run-fold.ts'
import type {
  HistoryEntry,
  JournaledState,
  NodeSnapshot,
  PartEntry,
  RunListOptions,
  RunListPage,
  RunOverview,
  RunSummary,
} from '../journal.ts'
import { outcomeOf, type RunOutcome } from '../run-outcome.ts'
import type { RunState } from '../../scheduler/events.ts'
import { areOpen, labelsOf, listRuns, storedStatesIn, storedStatesOf } from '../run-list.ts'
import { checkRunState, isEnd, nodeStateOf, runStateOf } from '../states.ts'
import { valuesFolder } from './file-names.ts'
import { isHeld } from './lock-probe.ts'
import type {
  NodeResult,
  PartResult,
  ReaderData,
  ReaderQuestion,
  RunAge,
  SnapshotHead,
  StoredResult,
} from './journal-messages.ts'
import { elapsedOf, entryOf, historyColumns, Kind, nodesOf, type HistoryRow } from '../rows.ts'
import { returnArrays } from './return-arrays.ts'
import { Remembered } from '../remembered.ts'
import { versionOf } from './open-database.ts'
import { hasOutcomes, outcomesPage, type OutcomesPage } from './old-outcomes.ts'
import { PreparedStatements } from './prepared-statements.ts'
import {
  hasFailures,
  versionWithKeys,
  versionWithParts,
  versionWithWriters,
} from './journal-schema.ts'
import { isSessionAlive, type SessionRow } from './session-lock.ts'

/** Rows of a history that travel together: about 1 ms on the loop. */
const historyPage = 512
const historyText = 512 * 1024

/** Results that travel together. */
const resultsPage = 512
const resultsBytes = 512 * 1024

/** Nodes of a snapshot that travel together. */
const nodesPage = 512

/** Runs whose ages travel together. */
const agesPage = 200

/** Rows of a run that are weighed between two checks for other questions: some milliseconds. */
const sizedRows = 10_000

/** Outcomes of acknowledged jobs that are read between two checks for other questions. */
const outcomesRead = 1000

/** Approximate size of a row besides its text. */
const rowBytes = 40

/** Rows that are folded between two checks for other questions: 1 to 2 ms. */
const foldPage = 1000

/** Runs of which it is remembered how many nodes are in which state, and where their results are. */
const rememberedRuns = 8

type RunsQuestion = ReaderQuestion & { readonly type: 'runs' }
type PartsQuestion = ReaderQuestion & { readonly type: 'parts' }

interface RunRow {
  readonly run: number
  readonly id: string
  /** Absent in a file of version 1. */
  readonly key?: string | null
  /** Absent before version 3. */
  readonly visible?: number
  readonly title: string
  readonly started_at: number
  readonly ended_at: number | null
  readonly state: number
  readonly pid: number
  readonly host: string
  readonly command: string
  readonly options: Uint8Array<ArrayBuffer>
  readonly session: number | null
  readonly counts: string | null
}

interface RowRange {
  readonly run: number
  /** The last row that is known already. */
  readonly from: number
  readonly upTo: number
  /** Which of them, as SQL. */
  readonly filter?: string
}

export class JournalReader {
  readonly #database: DatabaseSync
  readonly #statements: PreparedStatements
  readonly #data: ReaderData
  readonly #pause: () => Promise<void>
  readonly #version: number
  /** Which runs are listed, as SQL. */
  readonly #visible: string
  readonly #counts = new Remembered(rememberedRuns, () => new CountFold())
  /** Positions of the last success, by node. */
  readonly #successes = new Remembered(rememberedRuns, () => new Map<string, number>())
  readonly #snapshots = new Map<number, { readonly nodes: NodeSnapshot[]; sent: number }>()
  #lastSnapshot = 0

  /** `pause` lets other questions be answered between the pages of one. */
  constructor(database: DatabaseSync, data: ReaderData, pause: () => Promise<void>) {
    this.#database = database
    this.#statements = new PreparedStatements(database)
    this.#data = data
    this.#pause = pause
    this.#version = versionOf(database)
    this.#visible = this.#version < versionWithWriters ? '' : 'AND visible = 1'
  }

  async runs({ state, key, limit }: RunsQuestion): Promise<RunSummary[]> {
    const found: RunSummary[] = []
    if (key !== undefined && this.#version < versionWithKeys) return found
    const live = this.#liveSessions()
    let before = Number.MAX_SAFE_INTEGER
    const { filter, order } = stateFilter(state && storedStatesIn(state))
    while (found.length < limit) {
      const page = this.#all<RunRow>(
        `SELECT * FROM run WHERE run < ? ${this.#visible} ${key === undefined ? '' : 'AND key = ?'} ${filter}
        ${order} LIMIT 100`,
        before,
        ...(key === undefined ? [] : [key]),
      )
      if (page.length === 0) break
      for (const row of page) {
        before = row.run
        if (found.length >= limit) break
        if (state !== undefined && stateOf(row, live) !== state) continue
        found.push(await this.#summaryOf(row, live))
      }
    }
    return found
  }

  async list(options: RunListOptions): Promise<RunListPage> {
    const live = this.#liveSessions()
    const { filter, order } = stateFilter(storedStatesOf(options.outcomes))
    return listRuns(options, {
      read: async (before, size) => {
        await this.#pause()
        const rows = this.#all<RunRow>(
          `SELECT * FROM run WHERE run < ? ${this.#visible} ${filter} ${order} LIMIT ?`,
          before,
          size,
        )
        return rows.map((row) => ({
          ...row,
          number: row.run,
          state: stateOf(row, live),
          row,
        }))
      },
      labelsOf: async ({ row }) => labelsOf(await this.#optionsOf(row)),
      summaryOf: ({ row }) => this.#summaryOf(row, live),
    })
  }

  async tally(): Promise<Readonly<Partial<Record<RunOutcome, number>>>> {
    const tally: Partial<Record<RunOutcome, number>> = {}
    const add = (outcome: RunOutcome, count: number): void => {
      if (count > 0) tally[outcome] = (tally[outcome] ?? 0) + count
    }
    const states = this.#all<{ state: number; count: number }>(
      `SELECT state, count(*) AS count FROM run WHERE true ${this.#visible} GROUP BY state`,
    )
    let finished = 0
    const open: number[] = []
    for (const { state, count } of states) {
      const word = runStateOf(state)
      if (word === 'finished') finished = count
      else if (isEnd(word)) add('cancelled', count)
      else open.push(state)
    }
    const live = this.#liveSessions()
    const failed = await this.#failedRuns()
    add('failed', failed)
    add('succeeded', finished - failed)
    if (open.length > 0) {
      const rows = this.#all<RunRow>(
        `SELECT state, session FROM run WHERE state IN (${open.join(', ')}) ${this.#visible}`,
      )
      for (const row of rows) add(outcomeOf({ state: stateOf(row, live), counts: {} }), 1)
    }
    return tally
  }

  async #failedRuns(): Promise<number> {
    const [counted] = this.#all<{ count: number }>(
      `SELECT count(*) AS count FROM run WHERE ${hasFailures} ${this.#visible}`,
    )
    let failed = counted!.count
    // Runs that ended just now: they are counted when there is time.
    const state = checkRunState('finished')
    const uncounted = this.#all<RunRow>(
      `SELECT * FROM run WHERE state = ${state} AND counts IS NULL ${this.#visible}`,
    )
    for (const row of uncounted) {
      if (outcomeOf({ state: 'finished', counts: await this.#countsOf(row) }) === 'failed') failed++
    }
    return failed
  }

  async overview(id: string): Promise<RunOverview> {
    const row = this.#find(id)
    const summary = await this.#summaryOf(row, this.#liveSessions())
    const [first] = this.#all<{ position: number | null }>(
      'SELECT min(position) AS position FROM history WHERE run = ?',
      row.run,
    )
    const rows = [first?.position ?? 0, this.#lastPosition(row.run)] as const
    this.check(id)
    return { ...summary, options: await this.#optionsOf(row), rows }
  }

  /** Undefined where the record of the run was lost and made up. */
  async #optionsOf({ options }: RunRow): Promise<RunOverview['options']> {
    const decoded = await decodeValue(options, 'options', this.#data.address, systemClock)
    return (decoded ?? {}) as RunOverview['options']
  }

  async counts(id: string): Promise<Counts> {
    const counts = await this.#countsOf(this.#find(id))
    this.check(id)
    return counts
  }

  async snapshot(id: string, upTo: number): Promise<SnapshotHead> {
    const row = this.#find(id)
    const last = this.#lastPosition(row.run)
    const end = Math.min(upTo, last)
    const fold = new RunFold()
    await this.#fold({ run: row.run, from: 0, upTo: end }, (each) =>
      fold.add(entryOf(each), each[1] === Kind.success),
    )
    this.check(id)
    const then = { ...summaryOf(row, this.#liveSessions(), fold.counts()), ...fold.by }
    const { endedAt: _endedAt, ...rest } = then
    const head = {
      ...rest,
      ...(fold.endedAt !== undefined && { endedAt: fold.endedAt }),
      elapsed: fold.elapsed,
      state: end === last ? then.state : fold.state,
      position: fold.position,
    }
    this.#snapshots.set(++this.#lastSnapshot, { nodes: fold.nodes(), sent: 0 })
    return { snapshot: this.#lastSnapshot, run: head, options: row.options }
  }

  /** The next nodes of a snapshot. It is forgotten after the last. */
  nodes(snapshot: number): NodeSnapshot[] {
    const left = this.#snapshots.get(snapshot)
    const page = left?.nodes.slice(left.sent, (left.sent += nodesPage)) ?? []
    if (page.length < nodesPage) this.#snapshots.delete(snapshot)
    return page
  }

  history(id: string, from: number): HistoryEntry[] {
    const { run } = this.#find(id)
    const page: HistoryEntry[] = []
    let text = 0
    const rows = this.#rows().iterate(run, from, Number.MAX_SAFE_INTEGER, historyPage)
    for (const row of rows as unknown as Iterable<HistoryRow>) {
      page.push(entryOf(row))
      text += row[6]?.length ?? 0
      if (text > historyText) break
    }
    this.check(id)
    return page
  }

  async value(id: string, node: string): Promise<StoredResult> {
    const { run } = this.#find(id)
    const position = await this.#successOf(run, node)
    const [found] = this.#all<{ value: StoredResult }>(
      'SELECT value FROM result WHERE position = ?',
      position ?? -1,
    )
    if (found !== undefined) return found.value
    const state = this.#stateOfNode(run, node)
    this.check(id)
    throw new HeddleError('HDL_NO_RESULT', { node, state })
  }

  results(id: string, from: number): NodeResult[] {
    const { run } = this.#find(id)
    const page: NodeResult[] = []
    let bytes = 0
    const rows = this.#database
      .prepare(
        `SELECT position, node, value FROM history JOIN result USING (position)
        WHERE run = ? AND position > ? AND kind = ${Kind.success} ORDER BY position LIMIT ?`,
      )
      .iterate(run, from, resultsPage)
    for (const row of rows as unknown as Iterable<NodeResult>) {
      page.push(row)
      bytes += row.value.length
      if (bytes > resultsBytes) break
    }
    this.check(id)
    return page
  }

  parts({ run: id, node, from, values }: PartsQuestion): PartResult[] {
    const { run } = this.#find(id)
    if (this.#version < versionWithParts) return []
    const page: PartResult[] = []
    let bytes = 0
    const columns = historyColumns.replace('position', 'history.position')
    const statement = this.#database.prepare(
      `SELECT ${columns}, ${values ? 'value' : 'NULL'} FROM history
      ${values ? 'LEFT JOIN result ON result.position = history.position' : ''}
      WHERE run = ? AND node = ? AND history.position > ? AND kind = ${Kind.part}
      ORDER BY history.position LIMIT ?`,
    )
    const rows = returnArrays(statement).iterate(run, node, from, resultsPage)
    for (const row of rows as unknown as Iterable<[...HistoryRow, StoredResult | null]>) {
      const [position, kind, name, state, attempt, at, detail, value] = row
      const entry = entryOf([position, kind, name, state, attempt, at, detail]) as PartEntry
      page.push({ entry, value: value ?? undefined })
      bytes += value?.length ?? 0
      if (bytes > resultsBytes) break
    }
    this.check(id)
    return page
  }

  /** Where the last success of a node is. The successes of a run are read once, then remembered. */
  async #successOf(run: number, node: string): Promise<number | undefined> {
    const positions = this.#successes.of(run)
    const end = this.#lastPosition(run)
    await positions.catchUp((from) =>
      this.#fold({ run, from, upTo: end, filter: `AND kind = ${Kind.success}` }, (row) =>
        positions.value.set(row[2]!, row[0]),
      ),
    )
    return positions.value.get(node)
  }

  #stateOfNode(run: number, node: string): string {
    const [last] = this.#all<{ state: number }>(
      `SELECT state FROM history WHERE run = ? AND node = ? AND kind <= ${Kind.success}
      ORDER BY position DESC LIMIT 1`,
      run,
      node,
    )
    return last === undefined ? 'it has not been run' : nodeStateOf(last.state)
  }

  /** Throws when a run is not there, or not any more. */
  check(id: string): void {
    this.#find(id)
  }

  #find(id: string): RunRow {
    const [row] = this.#all<RunRow>(`SELECT * FROM run WHERE id = ? ${this.#visible}`, id)
    if (row !== undefined) return row
    throw new HeddleError('HDL_UNKNOWN_RUN', { run: id, address: this.#data.address })
  }

  ages(before: number): RunAge[] {
    const live = this.#liveSessions()
    const rows = this.#all<RunRow & { last: number }>(
      `SELECT *, coalesce((SELECT max(position) FROM history WHERE history.run = run.run), 0) AS last
      FROM run WHERE run < ? ORDER BY run DESC LIMIT ${agesPage}`,
      before,
    )
    const ages: RunAge[] = []
    for (const row of rows) {
      const isHidden = row.visible === 0
      if (isHidden && isLive(row, live)) continue
      const { run, last, started_at: startedAt, ended_at: endedAt } = row
      const end = endedAt !== null && { endedAt }
      ages.push({ run, last, state: stateOf(row, live), startedAt, ...end, isLeftOver: isHidden })
    }
    // A page of which nothing is listed is not the last one.
    return ages.length === 0 && rows.length > 0 ? this.ages(rows.at(-1)!.run) : ages
  }

  /** Undefined: it was removed meanwhile. */
  async summaries(runs: readonly number[]): Promise<(RunSummary | undefined)[]> {
    const live = this.#liveSessions()
    const summaries: (RunSummary | undefined)[] = []
    for (const run of runs) {
      const [row] = this.#all<RunRow>(`SELECT * FROM run WHERE run = ? ${this.#visible}`, run)
      summaries.push(row && (await this.#summaryOf(row, live)))
      await this.#pause()
    }
    return summaries
  }

  async sizes(runs: readonly number[]): Promise<number[]> {
    const sizes: number[] = []
    for (const run of runs) sizes.push(await this.#bytesOf(run))
    return sizes
  }

  async outcomes(before: number): Promise<number> {
    let found = 0
    if (!hasOutcomes(this.#database)) return found
    for (let after = ''; ;) {
      const [page] = this.#all<OutcomesPage>(outcomesPage, before, after, outcomesRead)
      found += page!.outcomes
      if (page!.last === null || page!.seen < outcomesRead) return found
      after = page!.last
      await this.#pause()
    }
  }

  /** What a run takes in the file and beside it, about. */
  async #bytesOf(run: number): Promise<number> {
    const [row] = this.#all<{ bytes: number }>(
      'SELECT length(options) AS bytes FROM run WHERE run = ?',
      run,
    )
    let bytes = row?.bytes ?? 0
    const upTo = this.#lastPosition(run)
    for (let from = 0; from < upTo;) {
      const [slice] = this.#all<{ last: number | null; bytes: number }>(
        `SELECT max(position) AS last, ${rowBytes} * count(*) + coalesce(sum(length(node)), 0)
          + coalesce(sum(length(detail)), 0) AS bytes
        FROM (SELECT position, node, detail FROM history
          WHERE run = ? AND position > ? AND position <= ? ORDER BY position LIMIT ${sizedRows})`,
        run,
        from,
        upTo,
      )
      if (slice === undefined || slice.last === null) break
      bytes += slice.bytes + this.#valueBytes(run, from, slice.last)
      from = slice.last
      await this.#pause()
    }
    return bytes
  }

  #valueBytes(run: number, after: number, upTo: number): number {
    let bytes = 0
    const values = this.#statements.get(
      `SELECT CASE typeof(value) WHEN 'text' THEN value ELSE length(value) END AS size
      FROM history JOIN result USING (position)
      WHERE run = ? AND position > ? AND position <= ? AND kind IN (${Kind.success}, ${Kind.part})`,
    )
    for (const { size } of values.iterate(run, after, upTo) as Iterable<{
      size: number | string
    }>) {
      bytes += typeof size === 'number' ? size : this.#fileBytes(size)
    }
    return bytes
  }

  #fileBytes(name: string): number {
    const path = join(valuesFolder(this.#data.file), name)
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0
  }

  /** The sessions that can be writing now. */
  #liveSessions(): ReadonlySet<number> {
    const { file } = this.#data
    if (this.#version < versionWithWriters) return this.#liveOfEarlierVersion()
    const open = this.#all<SessionRow & { readonly session: number }>(
      'SELECT session, pid, lock FROM session WHERE closed_at IS NULL',
    )
    const live = open.filter((each) => isSessionAlive(file, each))
    return new Set(live.map(({ session }) => session))
  }

  #liveOfEarlierVersion(): ReadonlySet<number> {
    const [last] = this.#all<{ session: number; closed_at: number | null }>(
      'SELECT session, closed_at FROM session ORDER BY session DESC LIMIT 1',
    )
    return new Set(last?.closed_at === null && isHeld(this.#data.file) ? [last.session] : [])
  }

  async #countsOf(row: RunRow): Promise<Counts> {
    if (row.counts !== null) return JSON.parse(row.counts) as Counts
    const counts = this.#counts.of(row.run)
    const { value: fold } = counts
    const upTo = this.#lastPosition(row.run)
    await counts.catchUp((from) =>
      this.#fold({ run: row.run, from, upTo }, ([, kind, node, state, , , detail]) => {
        if (kind === Kind.nodes) fold.addNodes(nodesOf(detail!))
        if (kind === Kind.node || kind === Kind.success) fold.add(node!, nodeStateOf(state))
      }),
    )
    return fold.counts()
  }

  async #summaryOf(row: RunRow, live: ReadonlySet<number>): Promise<RunSummary> {
    const summary = summaryOf(row, live, await this.#countsOf(row))
    return row.ended_at === null ? summary : { ...summary, elapsed: this.#elapsedOf(row) }
  }

  /** The end of a run is among its last rows. */
  #elapsedOf({ run, started_at: startedAt, ended_at: endedAt }: RunRow): number {
    const [last] = this.#all<{ detail: string | null }>(
      `SELECT detail FROM history WHERE run = ? AND kind = ${Kind.run} ORDER BY position DESC LIMIT 1`,
      run,
    )
    return elapsedOf(last?.detail) ?? Math.max(0, (endedAt ?? startedAt) - startedAt)
  }

  #lastPosition(run: number): number {
    const [last] = this.#all<{ position: number | null }>(
      'SELECT max(position) AS position FROM history WHERE run = ?',
      run,
    )
    return last?.position ?? 0
  }

  /** Takes in rows page by page. Returns how far it has come. */
  async #fold(rows: RowRange, take: (row: HistoryRow) => void): Promise<number> {
    let { from } = rows
    while (from < rows.upTo) {
      // Reads all of a page at once: row by row takes twice as long.
      const page = this.#rows(rows.filter).all(rows.run, from, rows.upTo, foldPage)
      for (const row of page as unknown as HistoryRow[]) take(row)
      if (page.length < foldPage) break
      from = (page.at(-1) as unknown as HistoryRow)[0]
      await this.#pause()
    }
    return rows.upTo
  }

  /** Parameters: run, after, up to, how many. */
  #rows(filter = ''): StatementSync {
    const statement = this.#statements.get(
      `SELECT ${historyColumns} FROM history
      WHERE run = ? AND position > ? AND position <= ? ${filter} ORDER BY position LIMIT ?`,
    )
    return returnArrays(statement)
  }

  #all<T>(sql: string, ...parameters: SQLInputValue[]): T[] {
    return this.#statements.get(sql).all(...parameters) as T[]
  }
}

function isLive({ session }: RunRow, live: ReadonlySet<number>): boolean {
  return session !== null && live.has(session)
}

/** Runs that have not ended are few: they are found by their state and then sorted. */
function stateFilter(states: readonly RunState[] | undefined): { filter: string; order: string } {
  const codes = states?.map((state) => checkRunState(state)).join(', ')
  return {
    filter: codes === undefined ? '' : `AND state IN (${codes})`,
    order: areOpen(states) ? 'ORDER BY +run DESC' : 'ORDER BY run DESC',
  }
}

function stateOf(row: RunRow, live: ReadonlySet<number>): JournaledState {
  const state = runStateOf(row.state)
  return isEnd(state) || isLive(row, live) ? state : 'interrupted'
}

function summaryOf(row: RunRow, live: ReadonlySet<number>, counts: Counts): RunSummary {
  const { id, title, pid, host, command } = row
  return {
    id,
    ...(typeof row.key === 'string' && { key: row.key }),
    title,
    startedAt: row.started_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
    state: stateOf(row, live),
    pid,
    host,
    command,
    counts,
  }
}
