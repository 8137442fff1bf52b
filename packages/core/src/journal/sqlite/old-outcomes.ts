/** Outcomes of acknowledged jobs, which the store in the same file keeps (store/sqlite/): a prune counts and removes old ones. */
import type { DatabaseSync } from 'node:sqlite'

/** Whether a server has used the file. */
export function hasOutcomes(database: DatabaseSync): boolean {
  const table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'store_outcome'"
  return database.prepare(table).get() !== undefined
}

/** Some of them in the order of their handles: those older than a time, after a handle, at most so many. */
export const outcomesPage = `
  SELECT max(handle) AS last, count(*) AS seen, count(*) FILTER (WHERE ended_at < ?) AS outcomes
  FROM (SELECT handle, ended_at FROM store_outcome WHERE handle > ? ORDER BY handle LIMIT ?)`

export interface OutcomesPage {
  /** Null when there are no more. */
  readonly last: string | null
  readonly seen: number
  readonly outcomes: number
}
