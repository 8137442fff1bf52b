/** S1 with processes of their own: what a supervisor that starts a command several times at once relies on. */
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { openDatabase } from '@heddle/test-servers'
import { openJournal } from '../../src/journal/open-journal.ts'
import type { KeyReport } from './fixtures/start-key.ts'
import { temporaryFolder } from './kit.ts'

const processes = 4
const rounds = 5

const stores: Readonly<Record<string, (t: TestContext) => Promise<string>>> = {
  sqlite: async (t) => `sqlite:${path.join(temporaryFolder(t), 'runs.db')}`,
  postgres: async (t) => {
    const database = await openDatabase()
    t.after(() => database[Symbol.asyncDispose]())
    return database.address
  },
}

for (const [kind, open] of Object.entries(stores)) {
  test(`${kind}: S1 processes that start one key at the same moment make one run, and all get its result`, async (t) => {
    const address = await open(t)
    const children = await Promise.all(Array.from({ length: processes }, () => startChild(address)))
    t.after(() => children.map((child) => child.kill()))
    for (let round = 0; round < rounds; round++) {
      const reports = await Promise.all(children.map((child) => ask(child, `key ${round}`)))
      assert.deepEqual(
        reports.flatMap(({ error }) => error ?? []),
        [],
      )
      assert.equal(new Set(reports.map(({ run }) => run)).size, 1)
      const ran = reports.flatMap(({ calls }, index) => (calls === 0 ? [] : [children[index]!.pid]))
      assert.deepEqual(
        reports.map(({ by }) => by),
        children.map(() => ran[0]),
      )
      assert.equal(
        reports.reduce((sum, { calls }) => sum + calls, 0),
        1,
      )
    }
    await using journal = await openJournal(address)
    assert.equal((await journal.runs()).length, rounds)
  })
}

async function startChild(address: string): Promise<ChildProcess> {
  const child = fork(new URL('fixtures/start-key.ts', import.meta.url), [address], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  await once(child, 'message')
  return child
}

async function ask(child: ChildProcess, key: string): Promise<KeyReport> {
  const answered = once(child, 'message')
  child.send(key)
  const [report] = (await answered) as [KeyReport]
  return report
}
