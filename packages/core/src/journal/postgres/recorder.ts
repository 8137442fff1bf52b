/**
 * Writes rows of all runs of this process, one statement after the other.
 *
 *     push() ──▶ waiting ──▶ under way ──▶ durable | lost, when another process has taken the run
 *                   ▲            │
 *                   │            └── no answer, or the database has no room: sent again, for up to `retryFor`
 *                   └── what came meanwhile goes with the next statement, at most 256 rows of it
 *
 *  R1  Rows of a run are written in the order of push(). One statement is under way at a time.
 *  R2  A statement that was left without an answer is sent again as it was: rows and states that are there already
 *      change nothing (journal-schema.ts), and rows of a run that was taken over are refused.
 *  R3  Every batch is reported once: durable, lost, or with the failure of the whole journal (J6).
 */
import type { HeddleError } from '../../errors.ts'
import type { Link } from '../../store/postgres/link.ts'
import { cellsPerRow, type BatchWire } from '../sqlite/messages.ts'
import { callPatiently, type Patience } from './patient-call.ts'
import { RowGroup, type Lane } from './row-group.ts'

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
  #isBusy = false
  #isFailed = false

  constructor(options: RecorderOptions) {
    this.#options = options
    const places = Array.from({ length: 27 }, (_, index) => `$${index + 1}`).join(', ')
    this.#statement = `SELECT ${options.schema}.record_2(${places})`
  }

  push(lane: Lane, batch: BatchWire): void {
    if (this.#isFailed) return
    this.#waiting.push({ lane, batch, taken: 0 })
    if (!this.#isBusy) void this.#drain()
  }

  async #drain(): Promise<void> {
    this.#isBusy = true
    while (this.#waiting.length > 0) {
      const { record, complete } = this.#take()
      try {
        const lost = await this.#send(record)
        const lanes = new Set(lost.map((number) => record.laneAt(number)!))
        for (const lane of lanes) this.#options.onLost(lane)
        for (const { lane, batch } of complete) {
          if (!lanes.has(lane)) this.#options.onDurable(lane, batch.batch)
        }
      } catch (error) {
        this.#isFailed = true
        this.#waiting.length = 0
        this.#options.onFailed(error as HeddleError)
      }
    }
    this.#isBusy = false
  }

  #take(): { readonly record: RowGroup; readonly complete: readonly Waiting[] } {
    const record = new RowGroup()
    const complete: Waiting[] = []
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const rows = next.batch.rows.length / cellsPerRow
      // J9: a signal is removed by the statement that has the row which took it.
      const isWhole = next.taken === 0 && next.batch.changes.some(({ type }) => type === 'taken')
      const to = isWhole ? rows : Math.min(rows, next.taken + mostRows - record.rows)
      record.add(next.lane, next.batch, next.taken, to)
      next.taken = to
      if (to < rows) break
      complete.push(next)
      this.#waiting.shift()
      if (record.rows >= mostRows) break
    }
    return { record, complete }
  }

  /** The numbers of the runs that were lost. */
  async #send(record: RowGroup): Promise<readonly number[]> {
    const { link, isDurable } = this.#options
    const parameters = record.parameters(isDurable)
    const [row] = await callPatiently<[number[] | null]>(
      link,
      this.#options,
      'be written',
      this.#statement,
      parameters,
    )
    return row?.[0] ?? []
  }
}
