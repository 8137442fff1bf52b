import { suggest } from '@heddle/core/lowlevel'
import { rulePage, rulePages } from './pages.ts'

/** The rule that was probably meant. */
export function suggestRule(wrong: string): string | undefined {
  // The letter O for a zero is the usual slip; otherwise names of four characters are all alike.
  const id = wrong.toUpperCase().replaceAll('O', '0')
  if (rulePage(id) !== undefined) return id
  return suggest(
    wrong,
    rulePages.flatMap((page) => [page.id, page.name]),
  )
}
