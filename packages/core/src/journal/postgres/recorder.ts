/**
 * Writes rows of all runs of this process, one statement after the other.
 *
 *     push() ──▶ waiting ──▶ under way ──▶ durable | lost, when another process has taken the run
 *                   ▲            │
 *                   │            └── no answer, or the database has no room: sent again, for up to `retryFor`
 *                   └── rows that came in between go with the next statement, at most 256 rows of it
 *
 *  R1  Rows of a run are written in the order of push(). One statement is under way at a time.
 *  R2  A statement that was left without an answer is sent again as it was: rows and states that are there already
 *      change nothing (journal-schema.ts), and rows of a run that was taken over are refused.
 *  R3  Every batch is reported once: durable, lost, or with the failure of the whole journal (J6).
 *  R4  While a statement is under way the next one is made ready as soon as it is full.
 */
import type { HeddleError } from '../../errors.ts'
import type { Link } from '../../store/postgres/database-link.ts'
import { cellsPerRow, type BatchWire } from '../batch.ts'
import { callPatiently, type Patience } from '../../store/postgres/patient-call.ts'
import { RowGroup, describedBy, type Lane } from './row-group.ts'

/** Rows in one statement: larger ones stall at checkpoints. */
const mostRows = 256

export interface RecorderOptions extends Patience {
  readonly link: Link
  readonly schema: string
  readonly isDurable: boolean
  onDurable(lane: Lane, batch: number): void
  onLost(lane: Lane): void
  onFailed(error: HeddleError): void
}

/** One statement. */
interface Group {
  readonly record: RowGroup
  readonly parameters: readonly unknown[]
  /** Batches whose last row is in it. */
  readonly complete: readonly Waiting[]
}

/** Characters of the descriptions of nodes in a statement: they are read again for the counts, 100,000 in about 2 ms. */
const mostDescribed = 100_000

/** Where to end with the rows of a batch, from row `from` on, so that the statement stays small. */
function fitting(record: RowGroup, { rows }: BatchWire, from: number): number {
  const end = Math.min(rows.length / cellsPerRow, from + mostRows - record.rows)
  let described = record.described
  for (let row = from; row < end; row++) {
    described += describedBy(rows, row * cellsPerRow)
    // One row fits always.
    if (described > mostDescribed && (row > from || record.rows > 0)) return row
  }
  return end
}

interface Waiting {
  readonly lane: Lane
  readonly batch: BatchWire
  /** Rows that were taken into statements already. */
  taken: number
}

export class GroupRecorder {
  readonly #options: RecorderOptions
  readonly #statement: string
  readonly #waiting: Waiting[] = []
  /** Rows of `#waiting` that are in no statement yet. */
  #waitingRows = 0
  /** R4 */
  #ready: Group | undefined
  #isBusy = false
  /** Sends statements until none is waiting. Never rejects. */
  #work = Promise.resolve()
  #isFailed = false

  constructor(options: RecorderOptions) {
    this.#options = options
    const places = Array.from({ length: 28 }, (_, index) => `$${index + 1}`).join(', ')
    this.#statement = `SELECT ${options.schema}.record_3(${places})`
  }

  push(lane: Lane, batch: BatchWire): void {
    if (this.#isFailed) return
    this.#waiting.push({ lane, batch, taken: 0 })
    this.#waitingRows += batch.rows.length / cellsPerRow
    if (!this.#isBusy) this.#work = this.#drain()
    else if (this.#waitingRows >= mostRows) this.#ready ??= this.#take()
  }

  /** Resolves when nothing is under way. *Cancellation*: none; a statement ends after `retryFor`. */
  waitIdle(): Promise<void> {
    return this.#work
  }

  async #drain(): Promise<void> {
    this.#isBusy = true
    while (this.#ready !== undefined || this.#waiting.length > 0) {
      const { record, complete, parameters } = this.#ready ?? this.#take()
      this.#ready = undefined
      try {
        const lost = await this.#send(parameters)
        const lanes = new Set(lost.map((number) => record.laneAt(number)!))
        for (const lane of lanes) this.#options.onLost(lane)
        for (const { lane, batch } of complete) {
          if (!lanes.has(lane)) this.#options.onDurable(lane, batch.batch)
        }
      } catch (error) {
        this.#isFailed = true
        this.#waiting.length = 0
        this.#ready = undefined
        this.#options.onFailed(error as HeddleError)
      }
    }
    this.#isBusy = false
  }

  #take(): Group {
    const record = new RowGroup()
    const complete: Waiting[] = []
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const rows = next.batch.rows.length / cellsPerRow
      // J9: a signal is removed by the statement that has the row which took it.
      const isWhole = next.taken === 0 && next.batch.changes.some(({ type }) => type === 'taken')
      const to = isWhole ? rows : fitting(record, next.batch, next.taken)
      if (to === next.taken && to < rows) break
      record.add(next.lane, next.batch, next.taken, to)
      this.#waitingRows -= to - next.taken
      next.taken = to
      if (to < rows) break
      complete.push(next)
      this.#waiting.shift()
      if (record.rows >= mostRows) break
    }
    return { record, complete, parameters: record.parameters(this.#options.isDurable) }
  }

  /** The numbers of the runs that were lost. */
  async #send(rows: readonly unknown[]): Promise<readonly number[]> {
    const [row] = await callPatiently<[number[] | null]>(
      this.#options.link,
      this.#options,
      'be written',
      this.#statement,
      (attempt) => [attempt > 1, ...rows],
    )
    return row?.[0] ?? []
  }
}
