import {
  pageLines,
  pageList,
  rulePage,
  rulePages,
  suggestRule,
  type TextOptions,
} from '@heddle/analyze'
import { HeddleError } from '@heddle/core'
import type { Line } from '../text/line.ts'

/**
 * The page of a rule, or the list of all.
 *
 * @throws `HDL_UNKNOWN_RULE` with a suggestion.
 */
export function explanation(rule: string | true, options: TextOptions): readonly Line[] {
  if (rule === true) return pageList(rulePages, options)
  const page = rulePage(rule)
  if (page !== undefined) return pageLines(page, options)
  throw new HeddleError('HDL_UNKNOWN_RULE', { rule, suggestion: suggestRule(rule) })
}

/** The same for programs: the data of the page. */
export function explanationRecord(rule: string | true): object {
  if (rule === true) return { version: 1, rules: rulePages }
  const page = rulePage(rule)
  if (page === undefined)
    throw new HeddleError('HDL_UNKNOWN_RULE', { rule, suggestion: suggestRule(rule) })
  return { version: 1, rules: [page] }
}
