/** Every rule with its page, in the order of their names. A test compares it with the rules there are. */
import type { RulePage } from './page.ts'
import { blockingPages } from './rules/blocking.ts'
import { racePages } from '../rules/index.ts'
import { suppressionPages } from './rules/suppression.ts'

export type { RulePage } from './page.ts'

export const rulePages: readonly RulePage[] = [...racePages, ...blockingPages, ...suppressionPages]

const byId = new Map(rulePages.map((page) => [page.id, page]))
const byName = new Map(rulePages.map((page) => [page.name, page]))

/** Finds a page by `H101` or `check-then-act`, in any case. */
export function rulePage(idOrName: string): RulePage | undefined {
  return byId.get(idOrName.toUpperCase()) ?? byName.get(idOrName.toLowerCase())
}
