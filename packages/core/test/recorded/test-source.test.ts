import { build, told } from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRecording } from '../../src/recorded/recording.ts'
import { sourceOf, type SourceInput } from '../../src/recorded/test-source.ts'

async function source(more: Partial<SourceInput> = {}, title = 'build.ts'): Promise<string> {
  await using journal = await told({ ...build, title })
  const id = '20261115-224501-k3f9q2'
  const snapshot = await journal.snapshot(id)
  const recording = makeRecording('free', snapshot, await Array.fromAsync(journal.history(id)))
  return sourceOf({
    recording,
    snapshot,
    address: 'sqlite:runs.db',
    by: 'heddle runs export (heddle 0.1.0)',
    values: new Map([['fetch', '{ pages: 3 }']]),
    omitted: 2,
    startedAt: '2026-11-15T22:45:01.000Z',
    plain: false,
    ...more,
  })
}

test('the header names the source, and the omitted parts', async () => {
  const text = await source()
  assert.match(
    text,
    / \* {3}run {6}20261115-224501-k3f9q2, build\.ts, started 2026-11-15T22:45:01\.000Z\n/,
  )
  assert.match(text, / \* {3}journal {2}sqlite:runs\.db\n/)
  assert.match(text, / \* 2 large results are left out\.\n/)
  assert.match(text, /value: \{ pages: 3 \} \},\n/)
})

test('a title cannot end the comment', async () => {
  const text = await source({}, 'a */ process.exit() /*\n\u001b[2J')
  assert.match(text, /a \* \/ process\.exit\(\)/)
  assert.equal(text.indexOf('*/'), text.indexOf('\n */') + 2)
})

test('without types for a file that is JavaScript', async () => {
  assert.match(await source(), /const recorded: RecordedRun = /)
  const text = await source({ plain: true })
  assert.match(text, /const recorded = /)
  assert.doesNotMatch(text, /RecordedRun/)
})
