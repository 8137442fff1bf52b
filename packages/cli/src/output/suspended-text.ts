/** The wait of a suspended job, in the words of the scheduler and the time of this machine. */
import type { Explanation } from '@heddle/core'
import { formatDateTime } from '../text/times.ts'

/** The scheduler writes times in UTC; all other times that people see are local. */
export function suspendedText(explanation: Explanation): string {
  if (explanation.why !== 'suspended') return explanation.text
  const { signal, until } = explanation.waitsFor ?? {}
  if (signal !== undefined || until === undefined) return explanation.text
  return `sleeps until ${formatDateTime(until)}`
}
