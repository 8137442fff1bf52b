import { journalConformance } from '../../../src/testing/journal-conformance.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'

journalConformance('memory', async () => {
  const journal = await openJournal('memory')
  return {
    isLasting: false,
    open: async () => journal,
    [Symbol.asyncDispose]: () => journal.stop(),
  }
})
