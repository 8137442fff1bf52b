/** Every rule with its page, in the order of their names. A test compares it with the rules there are. */
import type { RulePage } from './page.ts'
import { atomicityGapPages } from './rules/atomicity-gap.ts'
import { blockingPages } from './rules/blocking.ts'
import { lifetimeMismatchPages } from './rules/lifetime-mismatch.ts'
import { missingGuardPages } from './rules/missing-guard.ts'
import { staleReferencePages } from './rules/stale-reference.ts'
import { suppressionPages } from './rules/suppression.ts'
import { toctouPages } from './rules/toctou.ts'

export type { RulePage } from './page.ts'

export const rulePages: readonly RulePage[] = [
  ...toctouPages,
  ...staleReferencePages,
  ...lifetimeMismatchPages,
  ...missingGuardPages,
  ...atomicityGapPages,
  ...blockingPages,
  ...suppressionPages,
]

const byId = new Map(rulePages.map((page) => [page.id, page]))
const byName = new Map(rulePages.map((page) => [page.name, page]))

/** By `H101` or `check-then-act`, in any case. */
export function rulePage(idOrName: string): RulePage | undefined {
  return byId.get(idOrName.toUpperCase()) ?? byName.get(idOrName.toLowerCase())
}
