import type { StartAnswer, StartRequest } from '../runs/own-runs.ts'

/** The methods of runs that schedules use: OwnRuns has them. */
export interface Runner {
  /** If two starts have one key, one opens the run and the other gets its id. */
  start(request: StartRequest): Promise<StartAnswer>
  /** Whether a run is under way in some process. An interrupted one is, as long as a server that lives may resume it. */
  isActive(run: string): Promise<boolean>
  cancel(
    run: string,
    how: { readonly by: string; readonly reason: string; readonly abort: boolean },
  ): Promise<unknown>
}
