/**
 * Cancels or resumes every run that fits a filter, page by page.
 *
 *  C1  At most `atOnce` requests are under way.
 *  C2  A run that refuses, because it has ended meanwhile, does not stop the others: all of them are tried.
 *  C3  Every page is read once: a run that fails again after it was resumed is not resumed a second time.
 */
import type { RunSummary } from '../../api/contract.ts'
import { fits, type RunFilter } from './list-store.ts'

const atOnce = 6
const pageSize = 200

export interface SteerAllOptions {
  readonly filter: RunFilter
  readonly list: (
    cursor: string | undefined,
    limit: number,
  ) => Promise<{
    readonly runs: readonly RunSummary[]
    readonly next: string | null
  }>
  readonly isEligible: (run: RunSummary) => boolean
  readonly steer: (id: string) => Promise<unknown>
}

/** Runs that can be cancelled from here. */
export function cancellable(run: RunSummary): boolean {
  return run.ended_at === null && run.outcome !== 'interrupted' && run.is_steerable
}

/** Runs that this server can resume: it has their graph. */
export function resumable(run: RunSummary): boolean {
  return run.graph !== null && ['failed', 'cancelled', 'interrupted'].includes(run.outcome)
}

export async function steerAll(
  options: SteerAllOptions,
): Promise<{ readonly done: number; readonly failed: number }> {
  const { filter, list, isEligible, steer } = options
  let done = 0
  let failed = 0
  for (let cursor: string | undefined, isMore = true; isMore;) {
    const page = await list(cursor, pageSize)
    const left = page.runs.filter((run) => isEligible(run) && fits(run, filter))
    const work = async (): Promise<void> => {
      for (let run = left.pop(); run !== undefined; run = left.pop()) {
        try {
          await steer(run.id)
          done++
        } catch {
          failed++
        }
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    cursor = page.next ?? undefined
    isMore = page.next !== null
  }
  return { done, failed }
}
