import { HeddleError } from '../errors.ts'
import { checkCount } from '../kernel/check.ts'
import { checkRunKey } from './check-rows.ts'
import type { JournaledState, RunHolder } from './journal.ts'

export interface RunsOptions {
  readonly state?: JournaledState
  readonly key?: string
  readonly limit?: number
}

const defaultRunLimit = 1000

/** How many runs to list. @throws `HDL_BAD_OPTION`, also for a key that no run can have. */
export function runLimit({ limit = defaultRunLimit, key }: RunsOptions): number {
  if (key !== undefined) checkRunKey(key)
  return checkCount('limit', limit, 0, true)
}

/** The error for a key that another run has. */
export function keyTaken(key: string, run: string): HeddleError {
  return new HeddleError('HDL_KEY_TAKEN', { key, run })
}

/** The error for a run that is being written. */
export function heldError(id: string, { pid, host, command }: RunHolder): HeddleError {
  return new HeddleError('HDL_LOCKED', {
    path: `Run ${id}`,
    holder: `pid ${pid} on ${host}: ${command}`,
  })
}
