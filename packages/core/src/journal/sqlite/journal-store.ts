/**
 * The statements that write a journal: one transaction for each group of batches.
 *
 *  D1  A group is durable as a whole or not at all. What failed may be written again: nothing of it is there.
 *  D2  Positions and the numbers of runs are given in the transaction that writes them, behind the last that any
 *      process has used. They grow in the file and are never used again, also after rows were removed.
 *  D3  A run is written by the session that its record names (its epoch: each start has another number). When
 *      another process has written since the last commit, ownership is checked again in the transaction; rows of
 *      a run that was taken are left out, and the answer says so.
 *
 * `PRAGMA data_version` tells for 1 µs whether another process has written: a process that is alone looks
 * nothing up.
 *
 * Why several rows in one statement: a call into SQLite costs as much as the row it inserts. 32 rows a
 * statement are 1.6 times as fast as one, and `json_each` is three times slower (docs/decisions/0091).
 * Smaller statements take the rest: the three rows of a node that is alone in its group are one call.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { CountFold } from '../run-fold.ts'
import { isEnd, nodeStateOf, runStateOf } from '../states.ts'
import { toBlob } from '../../sqlite/blob.ts'
import { joinBytes } from '../../sqlite/own-bytes.ts'
import type { RunHolder } from '../journal.ts'
import { LogSpace } from './log-space.ts'
import { cellsPerRow, type BatchWire, type Cell, type RunChange } from '../batch.ts'
import {
  type BatchAnswer,
  type ChosenRun,
  type ClaimAnswer,
  type ClaimWire,
  type FoundRun,
  type Opened,
  type PostAnswer,
  type PostWire,
  type PruneAnswer,
  type PruneWire,
  type WriterAnswer,
  type WriterChange,
} from './journal-messages.ts'
import { neverRead, type PostedMessage, type WantedMail } from '../mailbox.ts'
import { keptLog } from './open-database.ts'
import { hasOutcomes, outcomesPage, type OutcomesPage } from './old-outcomes.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { Kind, nodesOf } from '../rows.ts'
import { returnArrays } from './return-arrays.ts'
import { isSessionAlive, removeSessionLock, type SessionRow } from './session-lock.ts'
import { isBusy, isDiskFull } from './sqlite-error.ts'

/** Statements that insert this many rows each, the largest first. */
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

/** Rows that are removed in one transaction, and pages that are given back: a few milliseconds. */
const pruneRows = 1000
const vacuumPages = 500

/** What `PRAGMA auto_vacuum` says of files whose pages can be given back. */
const incrementalVacuum = 2

/** How long to wait for another process that writes, and between two tries, in milliseconds. */
const busyLimit = 30_000
const busyStep = 0.5

const sleeping = new Int32Array(new SharedArrayBuffer(4))

const noRuns: readonly number[] = []

/** The process that opens the journal. */
export interface SessionStart {
  readonly file: string
  readonly pid: number
  readonly at: number
  /** The name of the lock that proves the session alive. */
  readonly lock: string
}

/** The writer of a run, and whether readers see it. */
interface RunRecord {
  readonly run: number
  readonly visible: number
  readonly session: number | null
}

/** A run whose nodes are being counted. */
interface Counting {
  readonly run: number
  readonly fold: CountFold
  position: number
}

/** A transaction's changes of cached data, applied once it is committed. */
interface Remembered {
  position: number
  lastRun: number
  readonly taken: number[]
  readonly left: number[]
  isCounterDue: boolean
}

export class JournalStore {
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #session: number
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #dataVersion: StatementSync
  readonly #history: Insert
  readonly #result: Insert
  readonly #statements: PreparedStatements
  readonly #counting: Counting[] = []
  /** The runs that this session writes, and those that were taken from it. */
  readonly #held = new Set<number>()
  readonly #lost = new Set<number>()
  /** What `data_version` was when the last two were true; undefined when they have to be read. */
  #seenVersion: number | undefined
  #position = 0
  #lastRun = 0
  /** What `data_version` was when all mail had been read. */
  #mailVersion: number | undefined
  #hasFoundDead = false
  #seenVacuums: number
  /** Whether there are ended runs that are not counted and not remembered. */
  #hasUncounted = false
  #logSpace: LogSpace | undefined
  /** Pages that were written since the last checkpoint, about. */
  #logPages = 0
  /** The part of a step of a prune that is done at a time: less of it when the disk is full. */
  #pruneShare = 1

  /** The database is open and has its tables; the session's lock is held. */
  constructor(database: DatabaseSync, by: SessionStart) {
    this.#database = database
    this.#file = by.file
    this.#statements = new PreparedStatements(database)
    // Waits are ours: SQLite sleeps up to 100 ms between two tries.
    database.exec('PRAGMA busy_timeout = 0')
    const prepare = (sql: string): StatementSync => database.prepare(sql)
    this.#begin = prepare('BEGIN IMMEDIATE')
    this.#commit = prepare('COMMIT')
    this.#dataVersion = returnArrays(prepare('PRAGMA data_version'))
    const names = ['run', 'position', 'kind', 'node', 'state', 'attempt', 'at', 'detail']
    this.#history = new Insert(database, 'history', names)
    this.#result = new Insert(database, 'result', ['position', 'value'])
    this.#session = this.#transaction(() => {
      this.#closeDeadSessions(by.at)
      const sql = 'INSERT INTO session (pid, started_at, lock) VALUES (?, ?, ?)'
      return Number(prepare(sql).run(by.pid, by.at, by.lock).lastInsertRowid)
    })
    this.#seenVacuums = prepare('SELECT vacuums FROM counter').get()!['vacuums'] as number
    this.#findUncounted()
  }

  opened(): Opened {
    return { session: this.#session }
  }

  find(id: string): FoundRun | undefined {
    const found = this.#prepared('SELECT run, state FROM run WHERE id = ? AND visible = 1').get(id)
    return found && ({ ...found } as unknown as FoundRun)
  }

  /** Makes a group durable. When it throws, nothing of the group is there. Answers come without commit numbers. */
  write(group: readonly WriterChange[], now: number): (WriterAnswer | undefined)[] {
    for (let tries = 0; ; tries++) {
      try {
        return this.#writeGroup(group, now)
      } catch (error) {
        if (!isDiskFull(error) || !this.#makeRoomFor(group, tries)) throw error
      }
    }
  }

  /**
   * Steps of a prune must work on a full disk: they free it. The log has room again once it was moved into the
   * database, where a removal needs none; a smaller step needs less of it.
   */
  #makeRoomFor(group: readonly WriterChange[], tries: number): boolean {
    if (!group.every((change) => 'prune' in change)) return false
    if (tries > 0) this.#pruneShare /= 2
    if (this.#pruneShare < 1 / pruneRows) return false
    this.checkpoint()
    return true
  }

  #writeGroup(group: readonly WriterChange[], now: number): (WriterAnswer | undefined)[] {
    let rows = 0
    const answers = this.#transaction((changed) =>
      group.map((change) => {
        if (!('batch' in change)) return this.#carryOut(change, changed, now)
        rows += change.rows.length / cellsPerRow
        return this.#writeBatch(change, changed)
      }),
    )
    this.#logPages += 3 + rows / 16
    return answers
  }

  /** A transaction of the store that shares the file (store/sqlite/). When it throws, nothing of it is there. */
  alongside<T>(rows: number, work: () => T): T {
    const result = this.#transaction(work)
    this.#logPages += 3 + rows / 16
    return result
  }

  /** Waits for other processes that write, up to a bound. */
  #transaction<T>(work: (changed: Remembered) => T): T {
    this.#waitForTurn()
    try {
      this.#catchUp()
      const { position, lastRun } = { position: this.#position, lastRun: this.#lastRun }
      const changed: Remembered = { position, lastRun, taken: [], left: [], isCounterDue: false }
      const result = work(changed)
      if (changed.isCounterDue) this.#storeCounter(changed)
      this.#commit.run()
      this.#position = changed.position
      this.#lastRun = changed.lastRun
      for (const run of changed.taken) this.#held.add(run)
      for (const run of changed.left) this.#held.delete(run)
      return result
    } catch (error) {
      // Some failures have rolled back already.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      this.#seenVersion = undefined
      throw error
    }
  }

  #waitForTurn(): void {
    for (let waited = 0; ; waited += busyStep) {
      try {
        this.#begin.run()
        return
      } catch (error) {
        if (!isBusy(error) || waited >= busyLimit) throw error
      }
      Atomics.wait(sleeping, 0, 0, busyStep)
    }
  }

  /** D2, D3: what other processes have done since the last commit of this one. In a transaction. */
  #catchUp(): void {
    const [version] = this.#dataVersion.get() as unknown as [number]
    if (version === this.#seenVersion) return
    this.#seenVersion = version
    const { position, run } = this.#prepared(
      `SELECT
        max(position, coalesce((
          SELECT max((SELECT max(position) FROM history WHERE history.run = run.run))
          FROM run WHERE session IS NOT NULL
        ), 0)) AS position,
        max(run, coalesce((SELECT max(run) FROM run), 0)) AS run
      FROM counter`,
    ).get() as { position: number; run: number }
    this.#position = Math.max(this.#position, position)
    this.#lastRun = Math.max(this.#lastRun, run)
    if (this.#held.size === 0) return
    const owned = this.#prepared('SELECT run FROM run WHERE session = ?').all(this.#session)
    const still = new Set(owned.map((row) => row['run'] as number))
    for (const held of this.#held) {
      if (still.has(held)) continue
      this.#held.delete(held)
      this.#lost.add(held)
    }
  }

  #storeCounter({ position, lastRun }: Remembered): void {
    const sql = 'UPDATE counter SET position = max(position, ?), run = max(run, ?)'
    this.#run(sql, [position, lastRun])
  }

  /** Undefined when everything of it was written. */
  #writeBatch(whole: BatchWire, changed: Remembered): BatchAnswer | undefined {
    const lost = this.#lost.size === 0 ? noRuns : this.#lostIn(whole)
    const batch = lost.length === 0 ? whole : withoutRuns(whole, new Set(lost))
    const first = changed.position + 1
    this.#insert(batch, first)
    this.#insertResults(batch, first)
    changed.position += batch.rows.length / cellsPerRow
    for (const change of batch.changes) this.#apply(change, changed)
    return lost.length === 0 ? undefined : { commit: 0, lost }
  }

  #lostIn({ rows, changes }: BatchWire): number[] {
    const runs = new Set(changes.map(({ run }) => run))
    for (let cell = 0; cell < rows.length; cell += cellsPerRow) runs.add(rows[cell] as number)
    return [...runs].filter((run) => this.#lost.has(run))
  }

  #carryOut(
    change: ClaimWire | PostWire | PruneWire,
    changed: Remembered,
    now: number,
  ): ClaimAnswer | PostAnswer | PruneAnswer {
    if ('post' in change) return this.#post(change, now)
    if ('prune' in change) {
      switch (change.prune) {
        case 'rows':
          return this.#pruneRuns(change.runs, changed)
        case 'outcomes':
          return this.#pruneOutcomes(change)
        case 'pages':
          return this.#prunePages()
      }
    }
    changed.isCounterDue = true
    return change.claim === 'new' ? this.#claimNew(change, changed) : this.#claim(change, changed)
  }

  #claimNew(change: ClaimWire & { readonly claim: 'new' }, changed: Remembered): ClaimAnswer {
    const { id, key = null, title, startedAt, options } = change
    if (this.#prepared('SELECT 1 FROM run WHERE id = ?').get(id)) return { refused: 'exists' }
    const other = this.#prepared('SELECT run, id, visible, session FROM run WHERE key = ?').get(key)
    if (other !== undefined) {
      const { run, visible, session } = other as unknown as RunRecord
      const isLeft = visible === 0 && !this.#isLive(run, session, changed)
      if (!isLeft) return { refused: 'key', by: other['id'] as string }
      // The process was killed before its run could be seen.
      this.#run('UPDATE run SET key = NULL WHERE run = ?', [run])
    }
    const run = ++changed.lastRun
    const { pid, host, command } = change.holder
    this.#run(
      `INSERT INTO run
        (run, id, key, title, started_at, state, pid, host, command, options, session, visible)
      VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, 0)`,
      [run, id, key, title, startedAt, pid, host, command, toBlob(options), this.#session],
    )
    changed.taken.push(run)
    return { run }
  }

  #claim({ id }: ClaimWire & { readonly claim: 'held' }, changed: Remembered): ClaimAnswer {
    const found = this.#prepared(
      'SELECT run, session, visible, pid, host, command FROM run WHERE id = ? AND visible = 1',
    ).get(id) as (RunRecord & RunHolder) | undefined
    if (found === undefined) return { refused: 'unknown' }
    const { run, session, pid, host, command } = found
    if (this.#isLive(run, session, changed)) {
      return { refused: 'held', holder: { pid, host, command } }
    }
    this.#run('UPDATE run SET session = ? WHERE run = ?', [this.#session, run])
    // A cancel was meant for the process that ran it then.
    this.#run("DELETE FROM mail WHERE run = ? AND kind = 'cancel'", [run])
    this.#lost.delete(run)
    changed.taken.push(run)
    return { run }
  }

  /** Whether a living process writes a run. */
  #isLive(run: number, session: number | null, { taken, left }: Remembered): boolean {
    if (session === null) return false
    if (session === this.#session) {
      return (this.#held.has(run) && !left.includes(run)) || taken.includes(run)
    }
    const found = this.#prepared('SELECT pid, lock, closed_at FROM session WHERE session = ?').get(
      session,
    ) as (SessionRow & { closed_at: number | null }) | undefined
    return found?.closed_at === null && isSessionAlive(this.#file, found)
  }

  /** Sessions of processes that were killed. Runs that were never visible give their keys back. */
  #closeDeadSessions(at: number): void {
    const open = this.#database
      .prepare('SELECT session, pid, lock FROM session WHERE closed_at IS NULL')
      .all() as unknown as (SessionRow & { session: number })[]
    for (const each of open) {
      if (isSessionAlive(this.#file, each)) continue
      removeSessionLock(this.#file, each)
      this.#hasFoundDead = true
      this.#run('UPDATE session SET closed_at = ? WHERE session = ?', [at, each.session])
      this.#run('UPDATE run SET key = NULL WHERE visible = 0 AND session = ?', [each.session])
    }
  }

  #post({ post, to, sender, name, value }: PostWire, now: number): PostAnswer {
    const found = this.find(to)
    if (found === undefined) return 'unknown'
    if (isEnd(runStateOf(found.state))) return 'ended'
    const sql =
      'INSERT INTO mail (run, kind, sender, posted_at, name, value) VALUES (?, ?, ?, ?, ?, ?)'
    this.#run(sql, [found.run, post, sender, now, name ?? null, value ?? null])
    // The journal's own mail is not another process's write.
    this.#mailVersion = undefined
    return 'posted'
  }

  /** Messages for runs that this session writes, in the order of their numbers. */
  mail(wanted: WantedMail): PostedMessage[] {
    const [version] = this.#dataVersion.get() as unknown as [number]
    const isNew = wanted.some(([, after]) => after === neverRead)
    if (version === this.#mailVersion && !isNew) return []
    const found = this.#prepared(
      `SELECT m.mail, m.run, m.kind, m.sender, m.name, m.value
      FROM json_each(?) w CROSS JOIN mail m ON m.run = w.value ->> 0 AND m.mail > w.value ->> 1
      JOIN run r ON r.run = m.run AND r.session = ? ORDER BY m.mail`,
    ).all(JSON.stringify(wanted), this.#session)
    this.#mailVersion = version
    return found.map((row) => ({ ...row }) as unknown as PostedMessage)
  }

  /** Whether another process has the journal open for writing. */
  get hasOthers(): boolean {
    const open = this.#prepared(
      'SELECT pid, lock FROM session WHERE closed_at IS NULL AND session <> ?',
    ).all(this.#session)
    return open.some((each) => isSessionAlive(this.#file, each as unknown as SessionRow))
  }

  /** Whether a process that wrote to the journal was killed, as far as its opening has found. */
  get hasFoundDead(): boolean {
    return this.#hasFoundDead
  }

  /** Whether this session writes a run. */
  get holdsRuns(): boolean {
    return this.#held.size > 0
  }

  #pruneRuns(runs: readonly ChosenRun[], changed: Remembered): PruneAnswer {
    const kept: number[] = []
    let removed = 0
    for (const [done, chosen] of runs.entries()) {
      for (let rows = 1; rows > 0; removed += rows) {
        if (removed >= this.#pruneAtOnce(pruneRows)) return { more: true, done, kept }
        const answer = this.#pruneRows(chosen, changed)
        if (answer === 'kept') kept.push(chosen.run)
        rows = answer === 'kept' ? 0 : answer
      }
    }
    return { more: false, done: runs.length, kept }
  }

  /** Removes some rows of a run, and says how many: none when it is done. */
  #pruneRows({ run, last: chosenAt }: ChosenRun, changed: Remembered): number | 'kept' {
    const found = this.#prepared(
      `SELECT run, visible, session,
        coalesce((SELECT max(position) FROM history WHERE history.run = run.run), 0) AS last
      FROM run WHERE run = ?`,
    ).get(run)
    if (found === undefined) return 0
    const { visible, session, last: lastNow } = found as unknown as RunRecord & { last: number }
    if (this.#isLive(run, session, changed)) return 'kept'
    // Resumed and ended meanwhile, or opened: what it has acknowledged since then is nothing that was chosen.
    if (visible === 1 && lastNow !== chosenAt) return 'kept'
    if (visible === 1 || session !== null) {
      // From here on readers do not see it, and its key is free.
      this.#run('UPDATE run SET visible = 0, key = NULL, session = NULL WHERE run = ?', [run])
      changed.isCounterDue = true
    }
    const { last, rows } = this.#prepared(
      `SELECT max(position) AS last, count(*) AS rows FROM
        (SELECT position FROM history WHERE run = ? ORDER BY position LIMIT ?)`,
    ).get(run, this.#pruneAtOnce(pruneRows)) as { last: number | null; rows: number }
    if (last === null) {
      this.#run('DELETE FROM mail WHERE run = ?', [run])
      this.#run('DELETE FROM run WHERE run = ?', [run])
      return 0
    }
    this.#run(
      `DELETE FROM result WHERE position IN
        (SELECT position FROM history
          WHERE run = ? AND position <= ? AND kind IN (${Kind.success}, ${Kind.part}))`,
      [run, last],
    )
    this.#run('DELETE FROM history WHERE run = ? AND position <= ?', [run, last])
    return rows
  }

  #pruneAtOnce(most: number): number {
    return Math.max(1, Math.floor(most * this.#pruneShare))
  }

  /** They have no index by time, which each job would pay for: a prune reads all of them once, some at a time. */
  #pruneOutcomes({ after, before }: PruneWire & { readonly prune: 'outcomes' }): PruneAnswer {
    // Otherwise no server has used the file.
    if (!hasOutcomes(this.#database)) return { more: false, outcomes: 0 }
    const { last, seen, outcomes } = this.#prepared(outcomesPage).get(
      before,
      after,
      pruneRows,
    ) as unknown as OutcomesPage
    if (last === null) return { more: false, outcomes: 0 }
    if (outcomes > 0) {
      const sql = 'DELETE FROM store_outcome WHERE handle > ? AND handle <= ? AND ended_at < ?'
      this.#run(sql, [after, last, before])
    }
    return { more: seen === pruneRows, outcomes, last }
  }

  /** Files that were made before version 3 keep their pages, for later rows. */
  #prunePages(): PruneAnswer {
    const { auto_vacuum: mode } = this.#database.prepare('PRAGMA auto_vacuum').get()!
    if (mode !== incrementalVacuum) return { more: false }
    this.#database.exec(`PRAGMA incremental_vacuum(${this.#pruneAtOnce(vacuumPages)})`)
    const { page_count: pages } = this.#database.prepare('PRAGMA page_count').get()!
    this.#run('UPDATE counter SET vacuums = vacuums + 1, pages = ?', [pages!])
    const { freelist_count: free } = this.#database.prepare('PRAGMA freelist_count').get()!
    return { more: (free as number) > 0 }
  }

  /** Whether a vacuum of any process can have made the file so short, since this was asked last. */
  canBeSoShort(size: number): boolean {
    const { vacuums, pages } = this.#prepared('SELECT vacuums, pages FROM counter').get()!
    if (vacuums === this.#seenVacuums) return false
    this.#seenVacuums = vacuums as number
    const { page_size: pageSize } = this.#database.prepare('PRAGMA page_size').get()!
    return size >= (pages as number) * (pageSize as number)
  }

  #insert({ rows }: BatchWire, first: number): void {
    this.#history.run(rows.length / cellsPerRow, (values, to, row) => {
      const from = row * cellsPerRow
      values[to] = rows[from]!
      values[to + 1] = first + row
      for (let cell = 1; cell < cellsPerRow; cell++) values[to + cell + 1] = rows[from + cell]!
    })
  }

  #insertResults({ results, bodies }: BatchWire, first: number): void {
    let at = 0
    this.#result.run(results.length / 2, (values, to, row) => {
      const value = results[2 * row + 1]!
      values[to] = first + (results[2 * row] as number)
      if (typeof value === 'string') values[to + 1] = value
      else values[to + 1] = toBlob(bodies?.subarray(at, (at += value)) ?? noBytes)
    })
  }

  #apply(change: RunChange, changed: Remembered): void {
    const { run } = change
    switch (change.type) {
      case 'open':
        this.#run('UPDATE run SET visible = 1 WHERE run = ?', [run])
        return
      case 'resume': {
        const { pid, host, command } = change.holder
        this.#run(
          `UPDATE run SET state = 1, ended_at = NULL, counts = NULL,
            pid = ?, host = ?, command = ? WHERE run = ?`,
          [pid, host, command, run],
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
        changed.left.push(run)
        changed.isCounterDue = true
        return
      case 'taken':
        this.#run('DELETE FROM mail WHERE mail = ?', [change.mail])
    }
  }

  #run(sql: string, parameters: readonly SQLInputValue[]): void {
    this.#prepared(sql).run(...parameters)
  }

  #prepared(sql: string): StatementSync {
    return this.#statements.get(sql)
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

  /** From here on there is room in the log ahead of the written part. */
  reserveLog(): void {
    const { page_size: pageSize } = this.#database.prepare('PRAGMA page_size').get()!
    // Where SQLite has its log: the name that was given may be that of a link.
    const log = `${this.#database.location()}-wal`
    this.#logSpace = new LogSpace(log, pageSize as number, keptLog)
    this.#keepAhead()
  }

  /** The upkeep of the log after a commit: room ahead, and a checkpoint before it is too long. */
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

  /** Whether the log is long enough to be moved into the database. */
  get isLogLong(): boolean {
    return this.#logPages >= checkpointPages
  }

  /** Whether there is something that is better done while no caller waits. */
  get hasIdleWork(): boolean {
    return this.isLogLong || this.#counting.length > 0
  }

  /** Does some of it: a few milliseconds. */
  workIdly(): void {
    if (this.isLogLong) this.checkpoint()
    else this.#countSome()
  }

  /** Moves the log into the database, as far as readers allow. The log then starts again. */
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
      // Unless it was resumed meanwhile.
      const store = (): void =>
        this.#run('UPDATE run SET counts = ? WHERE run = ? AND ended_at IS NOT NULL', [
          JSON.stringify(counting.fold.counts()),
          counting.run,
        ])
      if (this.#database.isTransaction) store()
      else this.#transaction(store)
      this.#counting.shift()
      if (this.#hasUncounted && this.#counting.length === 0) this.#findUncounted()
    }
  }

  /** `clean`: every write has succeeded, and the next writer need not search for leftovers. */
  close(at: number, clean: boolean): void {
    try {
      if (!clean) return
      // Counts in one commit: single ones would each wait for the medium.
      this.#transaction((changed) => {
        changed.isCounterDue = true
        // The next process that opens the journal catches up on the counts of very long runs.
        for (let page = 0; page < 200 && this.#counting.length > 0; page++) this.#countSome()
        this.#run('UPDATE session SET closed_at = ? WHERE session = ?', [at, this.#session])
      })
      this.checkpoint()
    } finally {
      this.#logSpace?.close()
      this.#database.close()
    }
  }
}

/** A batch without the rows, results and changes of some runs. */
function withoutRuns(batch: BatchWire, runs: ReadonlySet<number>): BatchWire {
  const rows: Cell[] = []
  const results: (number | string)[] = []
  const bodies: Uint8Array<ArrayBuffer>[] = []
  let result = 0
  let at = 0
  for (let row = 0; row * cellsPerRow < batch.rows.length; row++) {
    const cells = batch.rows.slice(row * cellsPerRow, (row + 1) * cellsPerRow)
    const isKept = !runs.has(cells[0] as number)
    if (batch.results[result] === row) {
      const value = batch.results[result + 1]!
      result += 2
      const bytes = typeof value === 'string' ? 0 : value
      if (isKept) results.push(rows.length / cellsPerRow, value)
      if (isKept && bytes > 0) bodies.push(batch.bodies!.subarray(at, at + bytes))
      at += bytes
    }
    if (isKept) rows.push(...cells)
  }
  const changes = batch.changes.filter(({ run }) => !runs.has(run))
  return { ...batch, rows, results, changes, bodies: joinBytes(bodies) }
}
