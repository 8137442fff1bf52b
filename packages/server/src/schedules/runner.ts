import type { StartAnswer, StartRequest } from '../runs/own-runs.ts'

/** What schedules need of runs: OwnRuns has it. */
export interface Runner {
  /** Of two starts with one key one opens the run, the other gets its id. */
  start(request: StartRequest): Promise<StartAnswer>
  /** Whether a run is under way in some process. An interrupted one is not: it waits for the next start of a server. */
  isActive(run: string): Promise<boolean>
  cancel(
    run: string,
    how: { readonly by: string; readonly reason: string; readonly abort: boolean },
  ): Promise<unknown>
}
