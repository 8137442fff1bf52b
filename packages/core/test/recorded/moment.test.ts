import { build, told, zero } from './kit.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '../../src/index.ts'
import { momentOf, type Point } from '../../src/recorded/moment.ts'

const run = { id: '20261115-224501-k3f9q2', startedAt: zero }

test('a point means the last row at or before it', async () => {
  await using journal = await told(build)
  const rows = await Array.fromAsync(journal.history(run.id))
  const at = async (point: Point): Promise<string> => {
    const { position } = await momentOf(journal, run, point)
    const row = rows.find((each) => each.position === position)!
    return row.kind === 'node' ? `${row.node} ${row.state}` : row.kind
  }
  assert.equal(await at({ since: 309 }), 'parse running')
  assert.equal(await at({ since: 310 }), 'lint running')
  assert.equal(await at({ time: zero + 410 }), 'lint retrying')
  assert.equal(await at({ position: 999_999 }), 'run')
  const { at: time } = await momentOf(journal, run, { since: 309 })
  assert.equal(time, zero + 309, 'what is asked for, not when the row was written')
})

test('before the first row there is nothing', async () => {
  await using journal = await told(build)
  for (const point of [{ position: 0 }, { time: zero - 1 }]) {
    await assert.rejects(momentOf(journal, run, point), (error) => isError(error, 'HDL_BAD_OPTION'))
  }
})
