/**
 * The read side of the database.
 *
 * Rows never change, so a long answer is put together from short reads up to a position that is fixed
 * at its start: no read keeps the log from being moved into the database, and answers take turns.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { HeddleError } from '../../errors.ts'
import { CountFold, RunFold, type Counts } from '../fold.ts'
import type { HistoryEntry, JournaledState, NodeSnapshot, RunSummary } from '../journal.ts'
import { isEnd, nodeStateOf, runStateOf } from '../states.ts'
import { isHeld } from './lock-probe.ts'
import type { NodeResult, ReaderData, SnapshotHead, StoredResult } from './messages.ts'
import { entryOf, historyColumns, nodesOf, returnArrays, type HistoryRow } from './rows.ts'
import { Remembered } from './remembered.ts'
import { Kind } from './schema.ts'

/** Rows of a history that travel together: about 1 ms on the loop. */
const historyPage = 512
const historyText = 512 * 1024

/** Results that travel together. */
const resultsPage = 512
const resultsBytes = 512 * 1024

/** Nodes of a snapshot that travel together. */
const nodesPage = 512

/** Rows that are taken in between two looks at other questions: 1 to 2 ms. */
const foldPage = 1000

/** Runs of which it is remembered how many nodes are in which state, and where their results are. */
const rememberedRuns = 8

interface RunRow {
  readonly run: number
  readonly id: string
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
  readonly #data: ReaderData
  readonly #pause: () => Promise<void>
  readonly #counts = new Remembered(rememberedRuns, () => new CountFold())
  /** Positions of the last success, by node. */
  readonly #successes = new Remembered(rememberedRuns, () => new Map<string, number>())
  readonly #snapshots = new Map<number, { readonly nodes: NodeSnapshot[]; sent: number }>()
  #lastSnapshot = 0

  /** `pause` lets other questions be answered between the pages of one. */
  constructor(database: DatabaseSync, data: ReaderData, pause: () => Promise<void>) {
    this.#database = database
    this.#data = data
    this.#pause = pause
  }

  async runs(state: JournaledState | undefined, limit: number): Promise<RunSummary[]> {
    const found: RunSummary[] = []
    const live = this.#liveSession()
    let before = Number.MAX_SAFE_INTEGER
    while (found.length < limit) {
      const page = this.#all<RunRow>(
        'SELECT * FROM run WHERE run < ? ORDER BY run DESC LIMIT 100',
        before,
      )
      if (page.length === 0) break
      for (const row of page) {
        before = row.run
        if (found.length >= limit) break
        if (state !== undefined && stateOf(row, live) !== state) continue
        found.push(summaryOf(row, live, await this.#countsOf(row)))
      }
    }
    return found
  }

  async counts(id: string): Promise<Counts> {
    return this.#countsOf(this.#find(id))
  }

  async snapshot(id: string, upTo: number): Promise<SnapshotHead> {
    const row = this.#find(id)
    const last = this.#lastPosition(row.run)
    const end = Math.min(upTo, last)
    const fold = new RunFold()
    await this.#fold({ run: row.run, from: 0, upTo: end }, (each) =>
      fold.add(entryOf(each), each[1] === Kind.success),
    )
    const then = { ...summaryOf(row, this.#liveSession(), fold.counts()), ...fold.by }
    const { endedAt: _endedAt, ...rest } = then
    const head = {
      ...rest,
      ...(fold.endedAt !== undefined && { endedAt: fold.endedAt }),
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
    throw new HeddleError('HDL_NO_RESULT', { node, state: this.#stateOfNode(run, node) })
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

  #find(id: string): RunRow {
    const [row] = this.#all<RunRow>('SELECT * FROM run WHERE id = ?', id)
    if (row !== undefined) return row
    throw new HeddleError('HDL_UNKNOWN_RUN', { run: id, address: this.#data.address })
  }

  /** The session that can be writing now. */
  #liveSession(): number | undefined {
    if (this.#data.session !== undefined) return this.#data.session
    const [last] = this.#all<{ session: number; closed_at: number | null }>(
      'SELECT session, closed_at FROM session ORDER BY session DESC LIMIT 1',
    )
    return last?.closed_at === null && isHeld(this.#data.file) ? last.session : undefined
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
      // All of a page at once: row by row takes twice as long.
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
    const statement = this.#database.prepare(
      `SELECT ${historyColumns} FROM history
      WHERE run = ? AND position > ? AND position <= ? ${filter} ORDER BY position LIMIT ?`,
    )
    return returnArrays(statement)
  }

  #all<T>(sql: string, ...parameters: SQLInputValue[]): T[] {
    return this.#database.prepare(sql).all(...parameters) as T[]
  }
}

function stateOf(row: RunRow, live: number | undefined): JournaledState {
  const state = runStateOf(row.state)
  const isLive = row.session !== null && row.session === live
  return isEnd(state) || isLive ? state : 'interrupted'
}

function summaryOf(row: RunRow, live: number | undefined, counts: Counts): RunSummary {
  const { id, title, pid, host, command } = row
  return {
    id,
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
