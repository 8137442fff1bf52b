import assert from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type TestContext } from 'node:test'
import { Graph, isError, job, startRun, type Run } from '@heddle/core'
import { historyOf, temporaryFolder } from './kit.ts'
import type { JournalTrouble } from '../../src/journal/journal.ts'
import { openJournal } from '../../src/journal/open-journal.ts'

/** A journal whose writes can be made to fail. */
class Place {
  readonly file: string

  constructor(t: TestContext) {
    this.file = path.join(temporaryFolder(t), 'runs.db')
  }

  change(sql: string): void {
    using database = new DatabaseSync(this.file, { timeout: 10_000 })
    database.exec(sql)
  }

  breakWrites(): void {
    this.change(`CREATE TRIGGER broken BEFORE INSERT ON history
      BEGIN SELECT RAISE(ABORT, 'broken by a test'); END`)
  }

  repairWrites(): void {
    this.change('DROP TRIGGER broken')
  }
}

/** Two jobs side by side; the first breaks the journal, the second comes after it. */
function graphOf(place: Place, ran: string[]): Graph {
  const graph = new Graph()
  const first = job({ name: 'first' }, () => {
    ran.push('first')
    place.breakWrites()
    return 1
  })
  const a = graph.add('first', first)
  const second = job({ name: 'second' }, () => ran.push('second'))
  graph.add('second', second, { after: [a] })
  return graph
}

test('S4: while the journal cannot be written the run is paused; then it continues, and nothing is missing', async (t) => {
  const place = new Place(t)
  const ran: string[] = []
  const begun = Promise.withResolvers<void>()
  const troubles: (boolean | undefined)[] = []
  const onJournalTrouble = (trouble: JournalTrouble | undefined): void => {
    troubles.push(trouble?.isFinal)
    begun.resolve()
  }
  const started: Run = await startRun(graphOf(place, ran), {
    journal: `sqlite:${place.file}`,
    journalRetry: { for: 60_000, every: 5 },
    onJournalTrouble,
  })
  await begun.promise
  assert.equal(started.scheduler.state, 'paused')
  assert.deepEqual(ran, ['first'])
  place.repairWrites()
  const result = await started.result
  assert.equal(result.ok, true)
  assert.deepEqual(ran, ['first', 'second'])
  assert.deepEqual(troubles, [false, undefined])
  await using journal = await openJournal(place.file, { readOnly: true })
  const rows = await historyOf(journal, result.run!)
  const states = rows.flatMap((row) => (row.kind === 'run' ? [row.state] : []))
  assert.deepEqual(states, ['running', 'running', 'paused', 'running', 'finished'])
})

test('S4: a journal that cannot be written for too long ends the run with its error', async (t) => {
  const place = new Place(t)
  const ran: string[] = []
  const troubles: (boolean | undefined)[] = []
  const started = await startRun(graphOf(place, ran), {
    journal: `sqlite:${place.file}`,
    journalRetry: { for: 0 },
    onJournalTrouble: (trouble) => troubles.push(trouble?.isFinal),
  })
  await assert.rejects(started.result, (error) => isError(error, 'HDL_STORE_FAILED'))
  assert.deepEqual(ran, ['first'])
  assert.deepEqual(troubles, [true])
  place.repairWrites()
  await using journal = await openJournal(place.file)
  assert.equal((await journal.runs())[0]?.state, 'interrupted')
})
