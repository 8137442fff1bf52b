/** What the parts of the service share. It changes on the loop only, between awaits (law 1). */
import { HeddleError } from '@heddle/core'
import type { Kernel, Registry } from '@heddle/core/lowlevel'
import { commonTenant } from '../http/caller.ts'
import type { Backlog } from './jobs-backlog.ts'
import type { Encoded } from './encoded.ts'
import { jobOfHandle } from './handle.ts'
import type { JobTable } from './job-table.ts'
import type { AcknowledgementLog, SetAsideWork } from './ledger.ts'
import type { Failure, Remembered } from './remembered.ts'
import type { ComputationRunnerOptions } from './computation-runner.ts'
import type { Computation } from './computation.ts'

export interface ServiceOptions extends Pick<
  ComputationRunnerOptions,
  'store' | 'placesOf' | 'onJobLog' | 'prepare' | 'items' | 'note'
> {
  readonly jobs: JobTable
  readonly ledger: AcknowledgementLog
  readonly kernel: Kernel
  /** Whether this server answers for a handle. Absent: for all. */
  readonly owns?: ((handle: string) => boolean) | undefined
  /** Called with problems that are not part of an answer. */
  readonly onProblem: (what: string, error: unknown) => void
  /** A computation has ended, for whatever reason, this many milliseconds after it was taken. */
  readonly onComputed?: ((job: string, ms: number, isDone: boolean) => void) | undefined
}

export interface ServiceState {
  readonly options: ServiceOptions
  readonly registry: Registry<Encoded>
  readonly works: Map<string, Computation>
  readonly failures: Remembered<Failure>
  /**
   * Promised handles that are done, and their tenants. The store knows only handles for which it has a row; not those
   * whose results were there when they were promised.
   */
  readonly promised: Remembered<string>
  readonly backlog: Backlog
}

/** A handle can be guessed by a tenant that knows the input of another one: knowing it is not the right to read. */
export function mayRead(
  { options: { jobs } }: ServiceState,
  handle: string,
  owner: string,
  tenant: string,
): boolean {
  return owner === tenant || jobs.get(jobOfHandle(handle) ?? '')?.isShared === true
}

export function findAside(
  { options: { ledger } }: ServiceState,
  handle: string,
  isOwn: (owner: string) => boolean,
): SetAsideWork | undefined {
  return ledger
    .setAside()
    .find((aside) => aside.handle === handle && isOwn(aside.tenant ?? commonTenant))
}

export function setAsideError({ handle, interruptions, state, reason }: SetAsideWork): HeddleError {
  if (state === 'waiting') return new HeddleError('HDL_GONE', { what: `${handle} (${reason})` })
  return new HeddleError('HDL_SET_ASIDE', { handle, crashes: interruptions })
}
