/** What the options accept. The help needs no analyzer: a test compares these with its own lists. */
import type { FailOn, Level } from '@heddle/analyze'

export const formats = ['text', 'compact', 'json', 'sarif', 'markdown', 'github'] as const

export type Format = (typeof formats)[number]

export const levels: readonly Level[] = ['note', 'warning', 'error']

export const failOnChoices: readonly FailOn[] = ['new', 'any', 'never']

/** Whether people read it: they get what matters, programs get everything. */
export function isForPeople(format: Format): boolean {
  return format !== 'json' && format !== 'sarif'
}
