import assert from 'node:assert/strict'
import test from 'node:test'
import { isError } from '@heddle/core'
import type { RunSummary } from '@heddle/core/lowlevel'
import { pickRun } from '../../src/run/pick-run.ts'

const journalOf = (...runs: Partial<RunSummary>[]): Parameters<typeof pickRun>[0] => ({
  address: 'sqlite:x.db',
  runs: async () => runs as RunSummary[],
})

test('--resume takes the newest run of this title with something left to do', async () => {
  const done = { title: 'x', state: 'finished', counts: { succeeded: 3, failed: 0 } } as const
  const journal = journalOf(
    { ...done, id: '5' },
    { id: '4', title: 'other', state: 'interrupted', counts: {} },
    { id: '3', title: 'x', state: 'finished', counts: { succeeded: 2, failed: 1 } },
    { id: '2', title: 'x', state: 'interrupted', counts: {} },
  )
  assert.equal(await pickRun(journal, 'x'), '3')
  assert.equal(await pickRun(journal, 'unknown title'), '4')
  assert.equal(
    await pickRun(
      journalOf({ id: '1', title: 'x', state: 'cancelled', counts: { skipped: 1 } }),
      'x',
    ),
    '1',
  )
  const trimmed = { ...done, counts: { succeeded: 3, skipped: 1 } }
  assert.equal(
    await pickRun(
      journalOf({ ...trimmed, id: '2' }, { id: '1', title: 'x', state: 'interrupted', counts: {} }),
      'x',
    ),
    '1',
    'a node that was taken out on purpose is not left to do',
  )
  await assert.rejects(pickRun(journalOf({ ...done, id: '1' }), 'x'), (error) =>
    isError(error, 'HDL_UNKNOWN_RUN'),
  )
})
