import type { Job } from '../graph/job.ts'
import type { Place, PlaceContext } from './place.ts'

/** One attempt of a job, for a worker of the fleet. */
export interface FleetAttempt {
  readonly job: string
  readonly version: string
  /** The capabilities that a worker must have. */
  readonly capabilities: readonly string[]
  /** Whose work it is: only workers of this tenant get it. The common tenant of the server when absent. */
  readonly tenant?: string | undefined
  /** The node, and the number of the attempt. */
  readonly name: string
  readonly attempt: number
  /** `ctx.idempotencyKey`: the same over restarts and take-overs. */
  readonly key: string
  readonly input: unknown
  readonly signal: AbortSignal
  /** Milliseconds that its worker has to end it once `signal` has aborted. */
  readonly grace: number
  /** A worker has accepted it: its timeout starts. */
  readonly onStart: () => void
  /** The attempt waits for a worker, at first or again: its timeout stops. */
  readonly onWaiting: () => void
  readonly onLog: (text: string) => void
  readonly onProgress: (fraction: number, text?: string) => void
}

/** The fields that decide which workers may run an attempt. */
export type FleetNeeds = Pick<FleetAttempt, 'job' | 'version' | 'capabilities' | 'tenant'>

/** Hands attempts to workers. A server implements it. */
export interface FleetDispatch {
  /** Settles as the worker says. After the signal has aborted: when the job has ended there, or the grace is over. */
  run(attempt: FleetAttempt): Promise<unknown>
  /** Why an attempt waits, in words: `no worker with capability gpu`. */
  whyWaiting(attempt: FleetNeeds): string
}

const onFleet = { place: 'fleet' } as const

/**
 * Runs jobs on workers of the fleet. Their inputs and results are limited to values that the journal can keep:
 * fleet-value.ts.
 * @param tenant The tenant of these jobs; the common tenant of the server when absent.
 */
export function fleetPlace(dispatch: FleetDispatch, tenant?: string): Place {
  return {
    permitsOf: () => onFleet,
    run: (job, input, context) => runOn(dispatch, tenant, job, input, context),
  }
}

function runOn(
  dispatch: FleetDispatch,
  tenant: string | undefined,
  job: Job,
  input: unknown,
  context: PlaceContext,
): Promise<unknown> {
  const { name, attempt, signal, grace, idempotencyKey: key } = context
  const wants = {
    job: job.name,
    version: job.version ?? '1',
    capabilities: job.capabilities ?? [],
    tenant,
  }
  const wait = (): void => context.queued(() => dispatch.whyWaiting(wants))
  wait()
  return dispatch.run({
    ...wants,
    name,
    attempt,
    key,
    input,
    signal,
    grace,
    onStart: () => context.started(),
    onWaiting: wait,
    onLog: (text) => context.log(text),
    onProgress: (fraction, text) => context.progress(fraction, text),
  })
}
