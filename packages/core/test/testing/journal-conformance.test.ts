import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conformanceCases } from '../../src/testing/journal-conformance.ts'
import { unmetNeed } from '../../src/testing/journal/case.ts'
import type { Journal, RunWriter } from '../../src/journal/journal.ts'
import { openJournal } from '../../src/journal/open-journal.ts'

/** A copy of an object of which some methods are others. */
function changed<T extends object>(original: T, changes: Partial<Omit<T, 'valueOf'>>): T {
  return new Proxy(original, {
    get(target, key) {
      const source: object = Object.hasOwn(changes, key) ? changes : target
      const value: unknown = Reflect.get(source, key, source === target ? target : undefined)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function withWriters(journal: Journal, change: (writer: RunWriter) => Partial<RunWriter>): Journal {
  return changed(journal, {
    openRun: async (header) => {
      const writer = await journal.openRun(header)
      return changed(writer, change(writer))
    },
  })
}

/** Journals that do something wrong. */
const wrong: Readonly<Record<string, (journal: Journal) => Journal>> = {
  'forgets a row': (journal) =>
    withWriters(journal, (writer) => ({
      append: (row) => (row.attempt === 17 ? undefined : writer.append(row)),
    })),
  'swaps rows': (journal) => {
    let kept: (() => void) | undefined
    return withWriters(journal, (writer) => ({
      append: (row) => {
        if (kept === undefined && row.state === 'ready') kept = () => writer.append(row)
        else {
          writer.append(row)
          kept?.()
          kept = undefined
        }
      },
    }))
  },
  'forgets results': (journal) =>
    withWriters(journal, (writer) => ({
      commit: (row, _, guard) => writer.commit(row, undefined, guard),
    })),
  'ignores the guard of a commit': (journal) =>
    withWriters(journal, (writer) => ({ commit: (row, value) => writer.commit(row, value) })),
  'takes any result': (journal) =>
    withWriters(journal, (writer) => ({
      commit: (row, value, guard) =>
        writer.commit(row, typeof value === 'function' ? undefined : value, guard),
    })),
  'encodes in one go': (journal) =>
    withWriters(journal, (writer) => ({
      commit: (row, value, guard) => {
        try {
          JSON.stringify(value)
        } catch {
          // It has numbers that JSON has not.
        }
        return writer.commit(row, value, guard)
      },
    })),
  'drops logs': (journal) => withWriters(journal, () => ({ log: () => true })),
  'ignores upTo': (journal) => changed(journal, { snapshot: (id) => journal.snapshot(id) }),
  'ignores from': (journal) => changed(journal, { history: (id) => journal.history(id) }),
  'lists oldest first': (journal) =>
    changed(journal, { runs: async (options) => (await journal.runs(options)).toReversed() }),
  'lets a run be opened twice': (journal) =>
    changed(journal, {
      openRun: (header) =>
        journal.openRun(header).catch(() => journal.openRun({ ...header, id: `${header.id} 2` })),
    }),
  'writes after the end': (journal) =>
    withWriters(journal, (writer) => ({
      append: (row) => {
        try {
          writer.append(row)
        } catch (error) {
          if ((error as { code?: string }).code !== 'HDL_RUN_ENDED') throw error
        }
      },
    })),
}

async function failuresOf(make: (journal: Journal) => Journal): Promise<string[]> {
  const failures: string[] = []
  for (const each of conformanceCases) {
    const journal = make(await openJournal('memory'))
    const store = {
      isLasting: false,
      open: async () => journal,
      [Symbol.asyncDispose]: () => journal.stop(),
    }
    if (unmetNeed(each, store) !== undefined) continue
    await each.run(store).catch(() => failures.push(each.title))
  }
  return failures
}

test('the suite finds nothing wrong with a journal that is right', async () => {
  assert.deepEqual(await failuresOf((journal) => journal), [])
})

for (const [what, make] of Object.entries(wrong)) {
  test(`the suite finds a journal that ${what}`, async () => {
    assert.notDeepEqual(await failuresOf(make), [])
  })
}
