import { describe, test } from 'node:test'
import { unmetNeed, type ConformanceCase, type ConformanceStore } from './conformance/case.ts'
import { failureCases } from './conformance/failures.ts'
import { orderCases } from './conformance/order.ts'
import { runCases } from './conformance/runs.ts'
import { valueCases } from './conformance/values.ts'

export type { ConformanceStore } from './conformance/case.ts'

/** What every journal must do, as functions that throw when it does not. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...orderCases,
  ...runCases,
  ...valueCases,
  ...failureCases,
]

/**
 * Registers the tests that every journal must pass, with `node:test`. `open` makes a new, empty store
 * for each of them.
 *
 * @example
 * journalConformance('memory', async () => {
 *   const journal = await openJournal('memory')
 *   return { isLasting: false, open: async () => journal, [Symbol.asyncDispose]: () => journal.close() }
 * })
 */
export function journalConformance(name: string, open: () => Promise<ConformanceStore>): void {
  describe(`journal conformance: ${name}`, () => {
    for (const each of conformanceCases) {
      test(each.title, async (t) => {
        await using store = await open()
        const reason = unmetNeed(each, store)
        if (reason === undefined) await each.run(store)
        else t.skip(reason)
      })
    }
  })
}
