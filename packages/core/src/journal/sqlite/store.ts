/**
 * The write side of the database: one transaction for each group of batches.
 *
 *  D1  A group is durable as a whole or not at all.
 *  D2  The first failure is the last write: the group is rolled back, and nothing is written after it.
 *
 * Why several rows in one statement: a call into SQLite costs as much as the row it inserts. 32 rows a
 * statement are 1.6 times as fast as one, and `json_each` is three times slower (docs/decisions/0091).
 * Smaller statements take what is left: the three rows of a node that is alone in its group are one call.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { CountFold } from '../fold.ts'
import { isEnd, nodeStateOf, runStateOf } from '../states.ts'
import { LogSpace } from './log-space.ts'
import {
  cellsPerRow,
  type BatchWire,
  type FoundRun,
  type Opened,
  type RunChange,
} from './messages.ts'
import { keptLog } from './open-database.ts'
import { nodesOf } from './rows.ts'
import { Kind } from './schema.ts'

/** Statements that insert so many rows each, the largest first. */
const statementRows = [32, 8, 3, 1] as const

/** Puts the values of a row where they belong among those of a statement. */
type Fill = (values: SQLInputValue[], to: number, row: number) => void

/** Inserts any number of rows. The values of each statement have their own list, used again and again. */
class Insert {
  readonly #width: number
  readonly #statements: readonly {
    readonly rows: number
    readonly values: SQLInputValue[]
    readonly statement: StatementSync
  }[]

  constructor(database: DatabaseSync, table: string, names: readonly string[]) {
    this.#width = names.length
    const row = `(${names.map(() => '?').join()})`
    const insert = `INSERT INTO ${table} (${names.join()}) VALUES `
    this.#statements = statementRows.map((rows) => ({
      rows,
      values: Array.from({ length: rows * names.length }),
      statement: database.prepare(insert + Array.from({ length: rows }, () => row).join()),
    }))
  }

  run(count: number, fill: Fill): void {
    let row = 0
    for (const { rows, values, statement } of this.#statements) {
      while (row + rows <= count) {
        for (let to = 0; to < values.length; to += this.#width) fill(values, to, row++)
        statement.run(...values)
      }
    }
  }
}

const noBytes = new Uint8Array(0)

/** Rows read in one go when the nodes of an ended run are counted: about 0.5 ms. */
const countPage = 500

/** Ended runs that are remembered for counting; more are found again in the database. */
const countAhead = 1000

/** Pages in the write-ahead log from which on it is moved into the database. */
const checkpointPages = 1000

/**
 * The last position and the last run that were ever used, by one look for each run: the rows are
 * clustered by run. In a file that was saved from a damaged one each table may know of later ones.
 */
const lastUsed = `
  WITH RECURSIVE used (run) AS (
    SELECT max(run) FROM history
    UNION ALL
    SELECT (SELECT max(run) FROM history WHERE run < used.run) FROM used WHERE run IS NOT NULL
  )
  SELECT
    max(
      coalesce((SELECT max((SELECT max(position) FROM history WHERE run = used.run)) FROM used), 0),
      coalesce((SELECT max(position) FROM result), 0)
    ) AS position,
    max(
      coalesce((SELECT max(run) FROM history), 0),
      coalesce((SELECT max(run) FROM run), 0)
    ) AS run`

/** A run whose nodes are being counted. */
interface Counting {
  readonly run: number
  readonly fold: CountFold
  position: number
}

export class JournalStore {
  readonly #database: DatabaseSync
  readonly #session: number
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #history: Insert
  readonly #result: Insert
  readonly #statements = new Map<string, StatementSync>()
  readonly #counting: Counting[] = []
  /** Whether there are ended runs that are neither counted nor remembered. */
  #hasUncounted = false
  #logSpace: LogSpace | undefined
  /** Pages that were written since the last checkpoint, about. */
  #logPages = 0

  /** The database is open and has its tables. */
  constructor(database: DatabaseSync, by: { readonly pid: number; readonly at: number }) {
    this.#database = database
    const prepare = (sql: string): StatementSync => database.prepare(sql)
    this.#begin = prepare('BEGIN IMMEDIATE')
    this.#commit = prepare('COMMIT')
    const names = ['run', 'position', 'kind', 'node', 'state', 'attempt', 'at', 'detail']
    this.#history = new Insert(database, 'history', names)
    this.#result = new Insert(database, 'result', ['position', 'value'])
    const opened = prepare('INSERT INTO session (pid, started_at) VALUES (?, ?)').run(by.pid, by.at)
    this.#session = Number(opened.lastInsertRowid)
    this.#findUncounted()
  }

  opened(): Opened {
    const { position, run } = this.#database.prepare(lastUsed).get()!
    return { session: this.#session, position: position as number, run: run as number }
  }

  find(id: string): FoundRun | undefined {
    const found = this.#prepared('SELECT run, state FROM run WHERE id = ?').get(id)
    return found && { run: found['run'] as number, state: found['state'] as number }
  }

  /** Makes a group durable. When it throws, nothing of the group is there. */
  write(group: readonly BatchWire[]): void {
    this.#begin.run()
    try {
      for (const batch of group) {
        this.#insert(batch)
        this.#insertResults(batch)
        for (const change of batch.changes) this.#apply(change)
      }
      this.#commit.run()
    } catch (error) {
      // Some failures have rolled back already.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
    let rows = 0
    for (const batch of group) rows += batch.rows.length / cellsPerRow
    this.#logPages += 3 + rows / 16
  }

  #insert({ rows, first }: BatchWire): void {
    this.#history.run(rows.length / cellsPerRow, (values, to, row) => {
      const from = row * cellsPerRow
      values[to] = rows[from]!
      values[to + 1] = first + row
      for (let cell = 1; cell < cellsPerRow; cell++) values[to + cell + 1] = rows[from + cell]!
    })
  }

  #insertResults({ first, results, bodies }: BatchWire): void {
    let at = 0
    this.#result.run(results.length / 2, (values, to, row) => {
      const value = results[2 * row + 1]!
      values[to] = first + (results[2 * row] as number)
      if (typeof value === 'string') values[to + 1] = value
      else values[to + 1] = bodies?.subarray(at, (at += value)) ?? noBytes
    })
  }

  #apply(change: RunChange): void {
    const { run } = change
    switch (change.type) {
      case 'open': {
        const { id, title, startedAt, options } = change
        const { pid, host, command } = change.holder
        this.#run(
          `INSERT INTO run (run, id, title, started_at, state, pid, host, command, options, session)
          VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`,
          [run, id, title, startedAt, pid, host, command, options, this.#session],
        )
        return
      }
      case 'resume': {
        const { pid, host, command } = change.holder
        this.#run(
          `UPDATE run SET state = 1, ended_at = NULL, counts = NULL,
            pid = ?, host = ?, command = ?, session = ? WHERE run = ?`,
          [pid, host, command, this.#session, run],
        )
        return
      }
      case 'state':
        this.#run('UPDATE run SET state = ?, ended_at = ? WHERE run = ?', [
          change.state,
          change.endedAt,
          run,
        ])
        if (isEnd(runStateOf(change.state))) this.#countLater(run)
        return
      case 'leave':
        this.#run('UPDATE run SET session = NULL WHERE run = ?', [run])
    }
  }

  #run(sql: string, parameters: readonly SQLInputValue[]): void {
    this.#prepared(sql).run(...parameters)
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #countLater(run: number): void {
    if (this.#counting.length >= countAhead) this.#hasUncounted = true
    else this.#counting.push({ run, fold: new CountFold(), position: 0 })
  }

  #findUncounted(): void {
    this.#hasUncounted = false
    const found = this.#prepared(
      `SELECT run FROM run WHERE ended_at IS NOT NULL AND counts IS NULL LIMIT ${countAhead + 1}`,
    ).all()
    for (const { run } of found) this.#countLater(run as number)
  }

  /** From here on there is room in the log ahead of what is written. */
  reserveLog(): void {
    const { page_size: pageSize } = this.#database.prepare('PRAGMA page_size').get()!
    // Where SQLite has its log: the name that was given may be that of a link.
    const log = `${this.#database.location()}-wal`
    this.#logSpace = new LogSpace(log, pageSize as number, keptLog)
    this.#keepAhead()
  }

  /** What the log needs after a commit: room ahead, and to be moved into the database before it is too long. */
  keepUp(): void {
    if (this.#logPages >= 4 * checkpointPages) this.checkpoint()
    this.#keepAhead()
  }

  #keepAhead(): void {
    if (this.#logSpace?.isShort !== true) return
    this.#begin.run()
    try {
      this.#logSpace.extend()
    } finally {
      this.#database.exec('ROLLBACK')
    }
  }

  /** Whether there is something that is better done while nobody waits. */
  get hasIdleWork(): boolean {
    return this.#logPages >= checkpointPages || this.#counting.length > 0
  }

  /** Does some of it: a few milliseconds. */
  workIdly(): void {
    if (this.#logPages >= checkpointPages) this.checkpoint()
    else this.#countSome()
  }

  /** Moves the log into the database, as far as readers allow. The log then starts anew. */
  checkpoint(): void {
    this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)')
    this.#logPages = 0
  }

  /** Goes on counting the nodes of runs that have ended: lists of runs then need not read histories. */
  #countSome(): void {
    const counting = this.#counting[0]
    if (counting === undefined) return
    const rows = this.#database
      .prepare(
        `SELECT position, kind, node, state, detail FROM history
        WHERE run = ? AND position > ? ORDER BY position LIMIT ${countPage}`,
      )
      .all(counting.run, counting.position)
    for (const { position, kind, node, state, detail } of rows) {
      counting.position = position as number
      if (kind === Kind.nodes) counting.fold.addNodes(nodesOf(detail as string))
      if (kind === Kind.node || kind === Kind.success) {
        counting.fold.add(node as string, nodeStateOf(state))
      }
    }
    if (rows.length < countPage) {
      this.#counting.shift()
      // Unless it was resumed meanwhile.
      this.#run('UPDATE run SET counts = ? WHERE run = ? AND ended_at IS NOT NULL', [
        JSON.stringify(counting.fold.counts()),
        counting.run,
      ])
      if (this.#hasUncounted && this.#counting.length === 0) this.#findUncounted()
    }
  }

  /** `clean`: every write has succeeded, and the next writer need not look for what was left behind. */
  close(at: number, clean: boolean): void {
    try {
      if (!clean) return
      // In one commit: each count would wait for the medium.
      this.#begin.run()
      // Of very long runs the counts can be made up for by whoever opens the journal next.
      for (let page = 0; page < 200 && this.#counting.length > 0; page++) this.#countSome()
      this.#run('UPDATE session SET closed_at = ? WHERE session = ?', [at, this.#session])
      this.#commit.run()
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      this.#logSpace?.close()
      this.#database.close()
    }
  }
}
