import { checkDuration, checkOptions, type OptionNames } from '../kernel/check.ts'
import type { JournalRetry } from './journal.ts'

const optionNames = { for: 1, every: 1 } satisfies OptionNames<JournalRetry>

/** The checked limits of retries of a failed write. */
export function retryOf(retry: JournalRetry): Required<JournalRetry> {
  checkOptions(retry, optionNames)
  const { for: limit = 30_000, every = 500 } = retry
  return { for: checkDuration('retry.for', limit), every: checkDuration('retry.every', every) }
}
