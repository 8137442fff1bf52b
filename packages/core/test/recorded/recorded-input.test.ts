import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run } from '../../src/index.ts'
import { openJournal } from '../../src/lowlevel.ts'
import { readInput } from '../../src/recorded/recorded-input.ts'

test('the input of the last attempt is read, and nothing of a node that has none', async () => {
  await using journal = await openJournal('memory')
  const graph = new Graph()
  let round = 0
  const flaky = job({ name: 'flaky', retries: 1, retryBaseDelay: 0 }, (_: unknown, { attempt }) => {
    if (attempt === 0) throw new Error('again')
  })
  graph.add('given', flaky, { input: () => ({ round: round++ }) })
  graph.add('bare', flaky, { input: undefined })
  const { run: id } = await run(graph, { journal })
  const inputs = (await journal.snapshot(id!)).nodes.map((node) => readInput(journal, id!, node))
  assert.deepEqual(await Promise.all(inputs), [{ text: '{"round":1}' }, undefined])
})
