import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { run } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { temporaryFolder } from '../../run/kit.ts'
import { expectedValues, makeGraph } from './fixtures/saved-journal/graphs.ts'
import { describeJournal, unpack, type DescribedRun } from './fixtures/saved-journal/saved.ts'

const saved = path.join(import.meta.dirname, 'fixtures/saved-journal/v1')

async function expected(): Promise<DescribedRun[]> {
  return JSON.parse(await readFile(path.join(saved, 'expected.json'), 'utf8')) as DescribedRun[]
}

const unpacked = (t: TestContext): Promise<string> =>
  unpack(saved, path.join(temporaryFolder(t), 'journal'))

for (const readOnly of [true, false]) {
  test(`law 6: a journal of version 1 lists and shows its runs (readOnly: ${readOnly})`, async (t) => {
    const address = await unpacked(t)
    await using journal = await openJournal(address, { readOnly })
    const described = await describeJournal(journal)
    for (const { snapshot } of described) assert.ok(snapshot.elapsed! >= 0)
    // That version did not know how long a run took.
    const known = JSON.stringify(described, (key, value: unknown) =>
      key === 'elapsed' ? undefined : value,
    )
    assert.deepEqual(JSON.parse(known), await expected())
    const values = expectedValues()
    for (const { summary, results } of await expected()) {
      for (const node of results) {
        assert.deepEqual(await journal.valueOf(summary.id, node), values.get(node), node)
      }
      for await (const [node, value] of journal.results(summary.id)) {
        assert.deepEqual(value, values.get(node), node)
      }
    }
  })
}

test('law 6: every run of a journal of version 1 that has something left is resumed', async (t) => {
  const address = await unpacked(t)
  const values = expectedValues()
  for (const { summary, history, results } of await expected()) {
    const again = run(makeGraph('finished'), { journal: address, resume: summary.id })
    if (summary.counts.succeeded === values.size) {
      const recorded = await again
      assert.equal(recorded.ok, true)
      for (const [node, value] of values) assert.deepEqual(recorded.valueOf(node), value, node)
      continue
    }
    const result = await again
    assert.equal(result.ok, true, summary.title)
    await using journal = await openJournal(address, { readOnly: true })
    for (const [node, value] of values) {
      assert.deepEqual(result.valueOf(node), value, node)
      assert.deepEqual(await journal.valueOf(summary.id, node), value, node)
    }
    const rows = await Array.fromAsync(journal.history(summary.id))
    assert.deepEqual(JSON.parse(JSON.stringify(rows.slice(0, history.length))), history)
    const started = rows
      .slice(history.length)
      .flatMap((row) => (row.kind === 'node' && row.state === 'running' ? [row.node] : []))
    const left = [...values.keys()].filter((node) => !results.includes(node))
    assert.deepEqual(started, left)
  }
})
