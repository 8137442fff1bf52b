/**
 * Failures by the reference that a client was given: the last ones of this server. A client without a role gets the
 * reference and no more; an operator looks up the details.
 *
 *  F1  A failure belongs to the tenant of the caller: others are answered as if it were unknown (N1 in tenancy.ts).
 *  F2  Clients may choose the id of their request, which is the reference: if two have the same one, the last is found.
 */
import { HeddleError } from '@heddle/core'
import { toErrorRecord } from '@heddle/core/lowlevel'
import type { FailureDetail } from '../client/contract/failures.ts'
import { failedWorkOf } from '../jobs/failed-computations.ts'
import type { StageRow } from '../jobs/story.ts'
import type { Caller } from './caller.ts'
import { maySee } from './tenancy.ts'

const mostFailures = 1_000

export interface AnsweredFailure {
  readonly reference: string
  /** Wall time. */
  readonly at: number
  readonly tenant: string
  /** `POST /jobs/:name` */
  readonly route: string
  readonly code: string
  readonly error: unknown
}

export class Failures {
  /** Oldest first. */
  readonly #kept: AnsweredFailure[] = []

  add(failure: AnsweredFailure): void {
    this.#kept.push(failure)
    if (this.#kept.length > mostFailures) this.#kept.shift()
  }

  /** @throws `HDL_UNKNOWN_REQUEST`. */
  find(reference: string, caller: Caller): FailureDetail {
    const found = this.#kept.findLast(
      (each) => each.reference === reference && maySee(caller, each.tenant),
    )
    if (found === undefined) throw new HeddleError('HDL_UNKNOWN_REQUEST', { request: reference })
    return detailOf(found)
  }
}

function detailOf({ reference, at, route, code, error }: AnsweredFailure): FailureDetail {
  const work = failedWorkOf(error)
  const rows = work?.rows ?? []
  return {
    reference,
    at,
    route,
    code,
    error: toErrorRecord(error),
    job: work?.job ?? null,
    handle: work?.handle ?? null,
    attempts: attemptsOf(rows),
    log: rows.flatMap((row) =>
      row.kind === 'log' ? [{ at: row.at, stage: row.node, text: row.text }] : [],
    ),
  }
}

type Attempts = FailureDetail['attempts']

const ends: Readonly<Record<string, Attempts[number]['outcome']>> = {
  succeeded: 'succeeded',
  retrying: 'failed',
  failed: 'failed',
  cancelled: 'cancelled',
}

function attemptsOf(rows: readonly StageRow[]): Attempts {
  const attempts: Attempts = []
  const started = new Map<string, number>()
  for (const row of rows) {
    if (row.kind === 'log') continue
    const { node: stage, state, at, error } = row
    if (state === 'running') started.set(stage, at)
    const outcome = ends[state]
    const since = started.get(stage)
    if (outcome === undefined || since === undefined) continue
    started.delete(stage)
    attempts.push({
      stage,
      started_at: since,
      ended_at: at,
      outcome,
      ...(error !== undefined && { error: toErrorRecord(error) }),
    })
  }
  return attempts
}
