import { describe, test } from 'node:test'
import { keepAlive } from '../kernel/keep-alive.ts'
import { unmetNeed, type ConformanceCase, type ConformanceStore } from './journal/case.ts'
import { failureCases } from './journal/failures.ts'
import { orderCases } from './journal/order.ts'
import { partCases } from './journal/parts.ts'
import { runCases } from './journal/runs.ts'
import { valueCases } from './journal/values.ts'

export type { ConformanceStore } from './journal/case.ts'

/** The conformance cases of every journal: functions that throw when the journal fails them. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...orderCases,
  ...runCases,
  ...partCases,
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
 *   return { isLasting: false, open: async () => journal, [Symbol.asyncDispose]: () => journal.stop() }
 * })
 */
export function journalConformance(name: string, open: () => Promise<ConformanceStore>): void {
  describe(`journal conformance: ${name}`, () => {
    for (const each of conformanceCases) {
      test(each.title, async (t) => {
        // A journal that only waits does not keep a process, and Node 22 ends a test file then.
        using _ = keepAlive()
        await using store = await open()
        const reason = unmetNeed(each, store)
        if (reason === undefined) await each.run(store)
        else t.skip(reason)
      })
    }
  })
}
