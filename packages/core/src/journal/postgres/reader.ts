/**
 * The read side. Rows never change, so a long answer is put together from short reads up to a position that is fixed at
 * its start: no read keeps a transaction open.
 */
import { HeddleError } from '../../errors.ts'
import type { PostgresAddress } from '../../store/postgres/address.ts'
import { openRuns } from '../../store/postgres/record-schema.ts'
import type { Link } from '../../store/postgres/database-link.ts'
import { fromStored, toStored } from '../../store/stored-text.ts'
import { systemClock } from '../../kernel/clock.ts'
import { decodeValue } from '../encode.ts'
import type { PostedMessage, WantedMail } from '../mailbox.ts'
import { CountFold, RunFold, type Counts } from '../run-fold.ts'
import type {
  CopiedRows,
  HistoryEntry,
  JournaledState,
  PartEntry,
  RunListOptions,
  RunListPage,
  RunOverview,
  RunSnapshot,
  RunSummary,
} from '../journal.ts'
import type { AgedRun, PruneSource } from '../prune.ts'
import { outcomeOf, type RunOutcome } from '../run-outcome.ts'
import { areOpen, labelsOf, listRuns, storedStatesIn, storedStatesOf } from '../run-list.ts'
import { checkRunState, isEnd, nodeStateOf, runStateOf } from '../states.ts'
import type { RunState } from '../../scheduler/events.ts'
import { Remembered } from '../remembered.ts'
import { sizesOf } from './sizes.ts'
import { elapsedOf, entryOf, Kind, nodesOf, type HistoryRow } from '../rows.ts'

/** Rows that are read and taken in together: about 1 ms on the loop. */
const historyPage = 512

const resultsPage = 64

/** Chunks of 256 KiB. */
const chunksPage = 8

const runsPage = 100
const prunablePage = 500

/** Runs of which it is remembered how many nodes are in which state. */
const rememberedRuns = 8

/** Where the rows of a run are. */
export interface RunPlace {
  readonly run: number
  readonly period: number
}

/** A run as its own row has it. */
export interface RunRecord extends RunPlace {
  readonly id: string
  readonly key: string | null
  readonly title: string
  readonly startedAt: number
  readonly endedAt: number | null
  readonly state: number
  readonly pid: number
  readonly host: string
  readonly command: string
  readonly counts: string | null
  readonly epoch: number
  /** Encoded. */
  readonly options: Uint8Array<ArrayBuffer>
  readonly isHeld: boolean
  /** What the row of its end says besides. */
  readonly end: string | null
}

/** What a prune knows of a run. */
export interface PrunableRun extends RunPlace, AgedRun {
  readonly epoch: number
  readonly record: RunRecord
}

export type StoredResult = { readonly body: Uint8Array<ArrayBuffer> } | { readonly name: string }

type RunColumns = [
  string,
  number,
  string,
  string | null,
  string,
  Buffer,
  Buffer | null,
  number,
  Buffer,
  string,
  string,
  string | null,
  string,
  Uint8Array,
  boolean,
  string | null,
]

/** Times are read as their eight bytes: as text they are rounded where `extra_float_digits` is 0 or less. */
const runColumns = `r.run, r.period, r.id, r.key, r.title, float8send(r.started_at), float8send(r.ended_at), r.state,
  float8send(r.pid), r.host, r.command, r.counts, r.epoch, r.options`

/** The end of a run is among its last rows. */
const endDetail = `CASE WHEN r.ended_at IS NOT NULL THEN (SELECT e.detail FROM @.history e
  WHERE e.run = r.run AND e.period = r.period AND e.kind = ${Kind.run} ORDER BY e.position DESC LIMIT 1) END`

type RowColumns = [
  string,
  number,
  string | null,
  number | null,
  string | null,
  Buffer,
  string | null,
]

/** Whether a run ended with something that did not succeed; counts are JSON. */
const hasFailures = `coalesce(r.counts, '') ~ '[{,]"([^s]|su[^c])'`

const rowColumns = 'position, kind, node, state, attempt, float8send(at), detail'

export class PostgresReader {
  readonly #link: Link
  readonly #schema: string
  readonly #address: string
  readonly #counts = new Remembered(rememberedRuns, () => new CountFold())

  constructor(link: Link, { schema, shown }: PostgresAddress) {
    this.#link = link
    this.#schema = schema
    this.#address = shown
  }

  async runs(
    state: JournaledState | undefined,
    key: string | undefined,
    limit: number,
  ): Promise<RunSummary[]> {
    const found: RunSummary[] = []
    let before = Number.MAX_SAFE_INTEGER
    const inState = stateFilter(state && storedStatesIn(state))
    const withKey = key === undefined ? '' : 'AND r.key = $3'
    while (found.length < limit) {
      const page = await this.#runRecords(
        `r.run < $1 ${withKey} ${inState} ORDER BY r.run DESC LIMIT $2`,
        [before, runsPage, ...(key === undefined ? [] : [toStored(key)])],
      )
      for (const record of page) {
        before = record.run
        if (found.length >= limit) break
        if (state !== undefined && journaledState(record) !== state) continue
        found.push(summaryOf(record, await this.counts(record)))
      }
      if (page.length < runsPage) break
    }
    return found
  }

  async list(options: RunListOptions): Promise<RunListPage> {
    const inState = stateFilter(storedStatesOf(options.outcomes))
    return listRuns(options, {
      read: async (before, size) => {
        const records = await this.#runRecords(
          `r.run < $1 ${inState} ORDER BY r.run DESC LIMIT $2`,
          [before, size],
        )
        return records.map((record) => ({
          ...record,
          number: record.run,
          state: journaledState(record),
          record,
        }))
      },
      labelsOf: async ({ record }) => labelsOf(await this.#decode(record.options)),
      summaryOf: async ({ record }) => summaryOf(record, await this.counts(record)),
    })
  }

  async leftRuns(): Promise<readonly string[]> {
    const rows = await this.#call<[string]>(
      `SELECT r.id FROM @.run r LEFT JOIN @.holder h ON h.id = r.holder
        WHERE r.opened AND ${openRuns('r.state')} AND (h.until IS NULL OR h.until <= clock_timestamp())
        ORDER BY r.run DESC LIMIT 1000`,
      [],
    )
    return rows.map(([id]) => fromStored(id))
  }

  async tally(): Promise<Readonly<Partial<Record<RunOutcome, number>>>> {
    const tally: Partial<Record<RunOutcome, number>> = {}
    const rows = await this.#call<[number, boolean, boolean, string]>(
      `SELECT r.state, r.state < 4 AND h.until IS NOT NULL AND h.until > clock_timestamp(),
          ${hasFailures}, count(*)
        FROM @.run r LEFT JOIN @.holder h ON h.id = r.holder AND r.state < 4
        WHERE r.opened GROUP BY 1, 2, 3`,
      [],
    )
    for (const [state, isHeld, isFailed, count] of rows) {
      const journaled = journaledState({ state, isHeld })
      const counts = isFailed ? { failed: 1 } : {}
      const outcome = outcomeOf({ state: journaled, counts })
      tally[outcome] = (tally[outcome] ?? 0) + Number(count)
    }
    return tally
  }

  async overview(id: string): Promise<RunOverview> {
    const record = await this.find(id)
    const summary = summaryOf(record, await this.counts(record))
    const [bounds] = await this.#call<[string | null, string | null]>(
      'SELECT min(position), max(position) FROM @.history WHERE run = $1 AND period = $2',
      [record.run, record.period],
    )
    const rows = [Number(bounds?.[0] ?? 0), Number(bounds?.[1] ?? 0)] as const
    await this.check(id)
    return { ...summary, options: await this.#decode(record.options), rows }
  }

  async #decode(stored: Uint8Array<ArrayBuffer>): Promise<RunOverview['options']> {
    const decoded = await decodeValue(stored, 'options', this.#address, systemClock)
    return (decoded ?? {}) as RunOverview['options']
  }

  /** @throws `HDL_UNKNOWN_RUN`. */
  async find(id: string): Promise<RunRecord> {
    const [record] = await this.#runRecords('r.id = $1', [toStored(id)])
    if (record !== undefined) return record
    throw this.#unknown(id)
  }

  /**
   * After a read of a run: a prune hides a run before its first row goes, so what was read is whole when the run is
   * still there.
   *
   * @throws `HDL_UNKNOWN_RUN` when it is not.
   */
  async check(id: string): Promise<void> {
    if (!(await this.has(id))) throw this.#unknown(id)
  }

  /** Whether there is such a run that was not removed. */
  async has(id: string): Promise<boolean> {
    const rows = await this.#call<[number]>('SELECT 1 FROM @.run WHERE id = $1 AND opened', [
      toStored(id),
    ])
    return rows.length > 0
  }

  /**
   * The lease on a run that is not seen, and how long it lasts. Undefined when there is none. That of a run which was
   * removed does not run out.
   */
  async reservation(
    id: string,
  ): Promise<{ readonly holder: string; readonly milliseconds: number | null } | undefined> {
    const [row] = await this.#call<[string, number | null]>(
      `SELECT h.id, CASE WHEN isfinite(h.until)
          THEN ceil(extract(epoch FROM h.until - clock_timestamp()) * 1000)::integer END
        FROM @.run r JOIN @.holder h ON h.id = r.holder
        WHERE r.id = $1 AND NOT r.opened AND h.until > clock_timestamp()`,
      [toStored(id)],
    )
    return row && { holder: row[0], milliseconds: row[1] }
  }

  async snapshot(
    id: string,
    upTo: number,
  ): Promise<Omit<RunSnapshot, 'options'> & { readonly storedOptions: Uint8Array<ArrayBuffer> }> {
    const record = await this.find(id)
    const last = await this.#lastPosition(record)
    const end = Math.min(upTo, last)
    const fold = new RunFold()
    await this.#fold(record, 0, end, (row) => fold.add(entryOf(row), row[1] === Kind.success))
    await this.check(id)
    const { endedAt: _endedAt, ...summary } = {
      ...summaryOf(record, fold.counts()),
      ...fold.by,
    }
    return {
      ...summary,
      ...(fold.endedAt !== undefined && { endedAt: fold.endedAt }),
      elapsed: fold.elapsed,
      state: end === last ? summary.state : fold.state,
      position: fold.position,
      nodes: fold.nodes(),
      storedOptions: record.options,
    }
  }

  /** All runs, for a prune. */
  prunable(): PruneSource<PrunableRun> {
    let before = Number.MAX_SAFE_INTEGER
    return {
      nextPage: async () => {
        const records = await this.#runRecords('r.run < $1 ORDER BY r.run DESC LIMIT $2', [
          before,
          prunablePage,
        ])
        before = records.at(-1)?.run ?? before
        return records.map((record) => {
          const { run, period, epoch, startedAt, endedAt } = record
          const end = endedAt !== null && { endedAt }
          return { run, period, epoch, startedAt, ...end, state: journaledState(record), record }
        })
      },
      bytesOf: (runs) =>
        sizesOf(runs, (statement, parameters) => this.#call(statement, parameters)),
      summariesOf: async (runs) => {
        const summaries: RunSummary[] = []
        for (const { record } of runs) summaries.push(summaryOf(record, await this.counts(record)))
        return summaries
      },
    }
  }

  async countRows({ run, period }: RunPlace): Promise<CopiedRows> {
    const [row] = await this.#call<[string, string]>(
      `SELECT (SELECT count(*) FROM @.history WHERE run = $1 AND period = $2),
        (SELECT count(*) FROM @.result WHERE run = $1 AND period = $2)`,
      [run, period],
    )
    return { rows: Number(row![0]), results: Number(row![1]) }
  }

  /** How many runs started in which week. */
  async periods(): Promise<ReadonlyMap<number, number>> {
    const rows = await this.#call<[number, string]>(
      `SELECT period, count(*) FROM @.run WHERE opened AND holder IS DISTINCT FROM 'pruned' GROUP BY period`,
      [],
    )
    return new Map(rows.map(([period, count]) => [period, Number(count)]))
  }

  async messages(wanted: WantedMail): Promise<PostedMessage[]> {
    const rows = await this.#call<
      [string, string, string, string, string | null, Uint8Array | null]
    >(
      `SELECT m.id, m.run, m.kind, m.sender, m.name, m.value
        FROM unnest($1::bigint[], $2::bigint[]) w (run, after)
        JOIN @.run_message m ON m.run = w.run AND m.id > w.after ORDER BY m.id`,
      [wanted.map(([run]) => run), wanted.map(([, after]) => after)],
    )
    return rows.map(([id, run, kind, sender, name, value]) => ({
      mail: Number(id),
      run: Number(run),
      kind,
      sender: fromStored(sender),
      name: name === null ? null : fromStored(name),
      value: value === null ? null : Uint8Array.from(value),
    }))
  }

  async *history(id: string, after: number): AsyncGenerator<HistoryEntry, void, undefined> {
    const record = await this.find(id)
    let from = after
    for (;;) {
      const page = await this.#rows(record, from, Number.MAX_SAFE_INTEGER)
      for (const row of page) yield entryOf(row)
      if (page.length < historyPage) return this.check(id)
      from = page.at(-1)![0]
    }
  }

  /** How many nodes are in which state: as recorded at the end of the run, or worked out from its rows. */
  async counts(record: RunRecord): Promise<Counts> {
    if (record.counts !== null) return JSON.parse(record.counts) as Counts
    const counts = this.#counts.of(record.run)
    await this.#countInto(counts.value, record, (work) => counts.catchUp(work))
    return counts.value.counts()
  }

  /** A fold of all rows, for a writer that continues it. */
  async countFold(record: RunRecord): Promise<CountFold> {
    const fold = new CountFold()
    await this.#countInto(fold, record, async (work) => void (await work(0)))
    return fold
  }

  /** @throws `HDL_NO_RESULT`, `HDL_UNKNOWN_RUN`. */
  async result(id: string, node: string): Promise<[RunPlace, StoredResult]> {
    const record = await this.find(id)
    const name = toStored(node)
    const [found] = await this.#call<[Uint8Array | null, string | null]>(
      `SELECT v.body, v.name FROM @.history h JOIN @.result v USING (run, position, period)
        WHERE h.run = $1 AND h.period = $2 AND h.kind = ${Kind.success} AND h.node = $3
        ORDER BY h.position DESC LIMIT 1`,
      [record.run, record.period, name],
    )
    if (found !== undefined) return [record, resultOf(found[0], found[1])]
    const [last] = await this.#call<[number]>(
      `SELECT state FROM @.history WHERE run = $1 AND period = $2 AND kind <= ${Kind.success} AND node = $3
        ORDER BY position DESC LIMIT 1`,
      [record.run, record.period, name],
    )
    const state = last === undefined ? 'it has not been run' : nodeStateOf(last[0])
    await this.check(id)
    throw new HeddleError('HDL_NO_RESULT', { node, state })
  }

  /** Results in the order of the successes, a page at a time. */
  async *results(
    id: string,
  ): AsyncGenerator<readonly [RunPlace, string, StoredResult], void, undefined> {
    const record = await this.find(id)
    for (let from = 0; ;) {
      const page = await this.#call<[string, string, Uint8Array | null, string | null]>(
        `SELECT h.position, h.node, v.body, v.name
          FROM @.history h JOIN @.result v USING (run, position, period)
          WHERE h.run = $1 AND h.period = $2 AND h.position > $3 AND h.kind = ${Kind.success}
          ORDER BY h.position LIMIT $4`,
        [record.run, record.period, from, resultsPage],
      )
      for (const [, node, body, name] of page) {
        yield [record, fromStored(node), resultOf(body, name)]
      }
      if (page.length < resultsPage) return this.check(id)
      from = Number(page.at(-1)![0])
    }
  }

  /** The rows of the parts of a node, with their results if requested, a page at a time. */
  async *parts(
    id: string,
    node: string,
    options: { readonly from: number; readonly values: boolean },
  ): AsyncGenerator<readonly [RunPlace, PartEntry, StoredResult | undefined], void, undefined> {
    const record = await this.find(id)
    const { values } = options
    const limit = values ? resultsPage : historyPage
    for (let { from } = options; ;) {
      const page = await this.#call<[...RowColumns, Uint8Array | null, string | null]>(
        `SELECT h.position, h.kind, h.node, h.state, h.attempt, float8send(h.at), h.detail,
            ${values ? 'v.body, v.name' : 'NULL, NULL'}
          FROM @.history h ${values ? 'LEFT JOIN @.result v USING (run, position, period)' : ''}
          WHERE h.run = $1 AND h.period = $2 AND h.node = $3 AND h.position > $4 AND h.kind = ${Kind.part}
          ORDER BY h.position LIMIT $5`,
        [record.run, record.period, toStored(node), from, limit],
      )
      for (const [position, kind, name, state, attempt, at, detail, body, chunks] of page) {
        const row = rowOf([position, kind, name, state, attempt, at, detail])
        const hasValue = body !== null || chunks !== null
        const stored = hasValue ? resultOf(body, chunks) : undefined
        yield [record, entryOf(row) as PartEntry, stored]
      }
      if (page.length < limit) return this.check(id)
      from = Number(page.at(-1)![0])
    }
  }

  /** The bytes of a large result, in pieces. */
  async *chunks(
    { run, period }: RunPlace,
    name: string,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    for (let from = 0; ;) {
      const page = await this.#call<[Uint8Array]>(
        `SELECT body FROM @.chunk WHERE run = $1 AND period = $2 AND name = $3 AND number >= $4
          ORDER BY number LIMIT $5`,
        [run, period, name, from, chunksPage],
      )
      for (const [body] of page) yield body
      if (page.length < chunksPage) return
      from += chunksPage
    }
  }

  #unknown(id: string): HeddleError {
    return new HeddleError('HDL_UNKNOWN_RUN', { run: id, address: this.#address })
  }

  async #runRecords(condition: string, parameters: readonly unknown[]): Promise<RunRecord[]> {
    const rows = await this.#call<RunColumns>(
      `SELECT ${runColumns}, h.until IS NOT NULL AND h.until > clock_timestamp(), ${endDetail}
        FROM @.run r LEFT JOIN @.holder h ON h.id = r.holder WHERE r.opened AND ${condition}`,
      parameters,
    )
    return rows.map((row) => ({
      run: Number(row[0]),
      period: row[1],
      id: fromStored(row[2]),
      key: row[3] === null ? null : fromStored(row[3]),
      title: fromStored(row[4]),
      startedAt: numberOf(row[5]),
      endedAt: row[6] === null ? null : numberOf(row[6]),
      state: row[7],
      pid: numberOf(row[8]),
      host: fromStored(row[9]),
      command: fromStored(row[10]),
      counts: row[11],
      epoch: Number(row[12]),
      options: Uint8Array.from(row[13]),
      isHeld: row[14],
      end: row[15],
    }))
  }

  async #countInto(
    fold: CountFold,
    record: RunRecord,
    catchUp: (work: (from: number) => Promise<number>) => Promise<void>,
  ): Promise<void> {
    const upTo = await this.#lastPosition(record)
    await catchUp(async (from) => {
      await this.#fold(record, from, upTo, ([, kind, node, state, , , detail]) => {
        if (kind === Kind.nodes) fold.addNodes(nodesOf(detail!))
        if (kind === Kind.node || kind === Kind.success) fold.add(node!, nodeStateOf(state))
      })
      return upTo
    })
  }

  async #lastPosition({ run, period }: RunPlace): Promise<number> {
    const [row] = await this.#call<[string | null]>(
      'SELECT max(position) FROM @.history WHERE run = $1 AND period = $2',
      [run, period],
    )
    return Number(row?.[0] ?? 0)
  }

  async #fold(
    place: RunPlace,
    after: number,
    upTo: number,
    take: (row: HistoryRow) => void,
  ): Promise<void> {
    let from = after
    while (from < upTo) {
      const page = await this.#rows(place, from, upTo)
      for (const row of page) take(row)
      if (page.length < historyPage) return
      from = page.at(-1)![0]
    }
  }

  async #rows({ run, period }: RunPlace, from: number, upTo: number): Promise<HistoryRow[]> {
    const rows = await this.#call<RowColumns>(
      `SELECT ${rowColumns} FROM @.history
        WHERE run = $1 AND period = $2 AND position > $3 AND position <= $4 ORDER BY position LIMIT $5`,
      [run, period, from, upTo, historyPage],
    )
    return rows.map(rowOf)
  }

  #call<Row extends unknown[]>(statement: string, parameters: readonly unknown[]): Promise<Row[]> {
    const text = statement.replaceAll('@.', `${this.#schema}.`)
    return this.#link.call<Row>('be read', text, parameters)
  }
}

/** Written out, so that a plan can use the index of the runs that have not ended. */
function stateFilter(states: readonly RunState[] | undefined): string {
  if (states === undefined) return ''
  const codes = states.map((state) => checkRunState(state)).join(', ')
  return `AND r.state IN (${codes}) ${areOpen(states) ? `AND ${openRuns('r.state')}` : ''}`
}

function numberOf(bytes: Buffer): number {
  return bytes.readDoubleBE()
}

function rowOf([position, kind, node, state, attempt, at, detail]: RowColumns): HistoryRow {
  return [
    Number(position),
    kind,
    node === null ? null : fromStored(node),
    state,
    attempt === null ? null : Number(attempt),
    numberOf(at),
    detail === null ? null : fromStored(detail),
  ]
}

function resultOf(body: Uint8Array | null, name: string | null): StoredResult {
  return name === null ? { body: Uint8Array.from(body ?? []) } : { name }
}

function journaledState({ state, isHeld }: Pick<RunRecord, 'state' | 'isHeld'>): JournaledState {
  const current = runStateOf(state)
  return isEnd(current) || isHeld ? current : 'interrupted'
}

function summaryOf(record: RunRecord, counts: Counts): RunSummary {
  const { id, key, title, startedAt, endedAt, pid, host, command, end } = record
  return {
    id,
    ...(key !== null && { key }),
    title,
    startedAt,
    ...(endedAt !== null && {
      endedAt,
      elapsed: elapsedOf(end) ?? Math.max(0, endedAt - startedAt),
    }),
    state: journaledState(record),
    pid,
    host,
    command,
    counts,
  }
}
