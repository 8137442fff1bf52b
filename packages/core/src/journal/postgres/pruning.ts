/**
 * Removes runs from PostgreSQL, beside writers (C12).
 *
 *     runs of a week that goes whole ──▶ marked as removed, in slices ──▶ the partitions of the week are dropped
 *     runs of other weeks            ──▶ marked, in slices ──▶ their rows are removed, in slices
 *
 *  P1  Between two slices it waits five times as long as the last one took: writers keep most of the database.
 *  P2  A partition is dropped only when no run is left in it, and never that of the current week. It is detached first,
 *      which does not hold up writers.
 *  P3  Oldest first. A prune that was stopped in between has removed the oldest runs; the next one removes the rows of those
 *      that are marked, and drops what is left empty.
 *  P4  No statement touches more rows than a call has time for, however large a run is.
 */
import { throwIfAborted } from '../../kernel/abort.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isRefused } from '../../store/postgres/database-link.ts'
import { inTurnWithWriters } from '../prune.ts'
import type { RunRecord } from './reader.ts'

/** The fields by which a run is removed. */
export type PrunedRun = Pick<RunRecord, 'run' | 'period' | 'epoch'>

/** Runs in one slice. */
const markedAtOnce = 500

/** Rows in one slice: about 50 ms. */
const rowsAtOnce = 5_000

const partitioned = ['history', 'result', 'chunk'] as const

export interface PruningHost {
  readonly clock: Clock
  readonly schema: string
  /** Calls a function of the schema. */
  call<T>(name: string, parameters: readonly unknown[]): Promise<T>
  /** Carries out one statement. */
  change(statement: string): Promise<void>
  /** How many runs started in which week. */
  periods(): Promise<ReadonlyMap<number, number>>
}

export class Pruning {
  readonly #host: PruningHost

  constructor(host: PruningHost) {
    this.#host = host
  }

  /** Resolves with the removed runs; the others have changed since they were chosen. `chosen`: newest first. */
  async remove<R extends PrunedRun>(
    chosen: readonly R[],
    signal: AbortSignal | undefined,
  ): Promise<readonly R[]> {
    const whole = await this.#wholePeriods(chosen)
    const gone = new Set<number>()
    const oldestFirst = chosen.toReversed()
    for (const isWhole of [true, false]) {
      const runs = oldestFirst.filter(({ period }) => whole.has(period) === isWhole)
      for (let from = 0; from < runs.length; from += markedAtOnce) {
        throwIfAborted('The prune', signal)
        const slice = runs.slice(from, from + markedAtOnce)
        for (const run of await this.#mark(slice, !isWhole)) gone.add(run)
      }
    }
    await this.#removeRows(signal)
    await this.#dropEmpty(signal)
    return chosen.filter(({ run }) => gone.has(run))
  }

  /** Weeks of which all runs are chosen. */
  async #wholePeriods(chosen: readonly PrunedRun[]): Promise<ReadonlySet<number>> {
    const counts = new Map(await this.#host.periods())
    for (const { period } of chosen) counts.set(period, (counts.get(period) ?? 0) - 1)
    const current = Math.max(...counts.keys())
    const whole = [...counts].filter(([period, left]) => left <= 0 && period < current)
    return new Set(whole.map(([period]) => period))
  }

  /** From here on readers do not see them, and their keys are free. */
  async #mark(slice: readonly PrunedRun[], withRows: boolean): Promise<readonly number[]> {
    const parameters = [slice.map(({ run }) => run), slice.map(({ epoch }) => epoch), withRows]
    return inTurnWithWriters(this.#host.clock, () =>
      this.#host.call<readonly number[]>('prune_runs_4', parameters),
    )
  }

  /** Also removes rows of runs that an earlier prune has marked. */
  async #removeRows(signal: AbortSignal | undefined): Promise<void> {
    for (let isMore = true; isMore;) {
      throwIfAborted('The prune', signal)
      isMore = await inTurnWithWriters(this.#host.clock, () =>
        this.#host.call<boolean>('prune_rows_1', [rowsAtOnce]),
      )
    }
  }

  /** P2 */
  async #dropEmpty(signal: AbortSignal | undefined): Promise<void> {
    for (const period of await this.#host.call<readonly number[]>('empty_periods_1', [])) {
      // The history goes last: by it a week is found that was dropped in part.
      for (const table of partitioned.toReversed()) {
        throwIfAborted('The prune', signal)
        await this.#drop(`${this.#host.schema}.${table}`, period)
      }
    }
  }

  async #drop(parent: string, period: number): Promise<void> {
    const partition = `${parent}_${period}`
    try {
      await this.#host.change(`ALTER TABLE ${parent} DETACH PARTITION ${partition} CONCURRENTLY`)
    } catch (error) {
      if (isRefused(error, isPending)) {
        await this.#host.change(`ALTER TABLE ${parent} DETACH PARTITION ${partition} FINALIZE`)
      } else if (!isRefused(error, ...isGone)) throw error
    }
    await this.#host.change(`DROP TABLE IF EXISTS ${partition}`)
  }
}

/** An earlier prune was cut off while it waited for readers. */
const isPending = '55000'

/** Another prune was faster, or an earlier one was cut off between the two steps: not a partition, or not there. */
const isGone = ['42P01', '42809']
