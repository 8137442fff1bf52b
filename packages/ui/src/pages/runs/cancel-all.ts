/**
 * Cancels every active run that fits a filter, page by page.
 *
 *  C1  At most `atOnce` requests are under way.
 *  C2  A run that ended meanwhile is not counted as a failure of the others: all of them are tried.
 */
import type { RunSummary } from '../../api/contract.ts'
import { fits, type RunFilter } from './list-store.ts'

const atOnce = 6
const pageSize = 200

export interface CancelAllOptions {
  readonly filter: RunFilter
  readonly list: (
    cursor: string | undefined,
    limit: number,
  ) => Promise<{
    readonly runs: readonly RunSummary[]
    readonly next: string | null
  }>
  readonly cancel: (id: string) => Promise<unknown>
}

/** Runs that can be cancelled from here. */
export function cancellable(run: RunSummary): boolean {
  return run.ended_at === null && run.outcome !== 'interrupted' && run.is_steerable
}

export async function cancelAll(
  options: CancelAllOptions,
): Promise<{ readonly cancelled: number; readonly failed: number }> {
  const { filter, list, cancel } = options
  let cancelled = 0
  let failed = 0
  for (let cursor: string | undefined, isMore = true; isMore;) {
    const page = await list(cursor, pageSize)
    const left = page.runs.filter((run) => cancellable(run) && fits(run, filter))
    const work = async (): Promise<void> => {
      for (let run = left.pop(); run !== undefined; run = left.pop()) {
        try {
          await cancel(run.id)
          cancelled++
        } catch {
          failed++
        }
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    cursor = page.next ?? undefined
    isMore = page.next !== null
  }
  return { cancelled, failed }
}
