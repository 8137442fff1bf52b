import { HeddleError } from '../errors.ts'

/** How a request can end: exactly one of these, counted. */
export const outcomes = [
  'success',
  'error',
  'timeout',
  'disconnected',
  'superseded',
  'cancelled',
  'rejected',
] as const

export type Outcome = (typeof outcomes)[number]

export type OutcomeCounts = Readonly<Record<Outcome, number>>

/** A counter for each. */
export function noOutcomes(): Record<Outcome, number> {
  return {
    success: 0,
    error: 0,
    timeout: 0,
    disconnected: 0,
    superseded: 0,
    cancelled: 0,
    rejected: 0,
  }
}

/**
 * The outcome that an error stands for. A worker that skips a stale job, or that was refused by a
 * later stage, answers its waiters with an error; the counters should still have the real outcome.
 */
export function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof HeddleError)) return 'error'
  switch (error.code) {
    case 'HDL_TIMEOUT':
      return 'timeout'
    case 'HDL_SUPERSEDED':
      return 'superseded'
    case 'HDL_OVERLOADED':
    case 'HDL_TOO_MANY_REQUESTS':
    case 'HDL_DRAINING':
    case 'HDL_TOO_MANY_WAITERS':
      return 'rejected'
    case 'HDL_CANCELLED':
      return outcomeOfSource((error as HeddleError<'HDL_CANCELLED'>).details.source)
    default:
      return 'error'
  }
}

function outcomeOfSource(source: string): Outcome {
  if (source === 'disconnect') return 'disconnected'
  if (source === 'deadline') return 'timeout'
  if (source === 'superseded') return 'superseded'
  return 'cancelled'
}
