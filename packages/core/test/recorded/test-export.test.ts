import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testOf } from '../../src/recorded/test-export.ts'
import { build, told } from './kit.ts'

const id = '20261115-224501-k3f9q2'
const options = { address: 'sqlite:runs.db', by: 'a test' }

test('a run becomes a test that names its run, its source and its maker', async () => {
  await using journal = await told(build)
  const { source, kind, nodes, attempts } = await testOf(journal, id, options)
  assert.deepEqual([kind, nodes, attempts], ['free', 5, 5])
  assert.match(source, / \* {3}journal {2}sqlite:runs\.db\n \* {3}made by {2}a test\n/)
  assert.match(source, /await replayRun\(recorded, \{ clock/)
  assert.match(source, /value: \{ pages: 3 \}/)
  const plain = await testOf(journal, id, { ...options, plain: true })
  assert.doesNotMatch(plain.source, /RecordedRun/)
})

test('a run that is not there is unknown', async () => {
  await using journal = await told(build)
  await assert.rejects(testOf(journal, 'none', options), { code: 'HDL_UNKNOWN_RUN' })
})
