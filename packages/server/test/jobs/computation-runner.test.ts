import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { Bench } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { codeOf } from '../support/told.ts'

test('W8 the signal of work decides whether it was drained or cancelled, not an error of its job', async () => {
  const errors = [
    new HeddleError('HDL_DRAINING', { what: 'Another server' }),
    new HeddleError('HDL_CANCELLED', { what: 'A part', source: 'user' }),
  ]
  for (const error of errors) {
    const gate = new Gate('one')
    const bench = await Bench.open([gate.job])
    const { handle } = await bench.acknowledge('one', 'a')
    ;(await gate.started()).fail(error)
    await bench.clock.settle()
    const [run] = await bench.journal.runs()
    assert.equal(run?.state, 'finished')
    await assert.rejects(
      bench.result(handle),
      (failure) => codeOf(failure) === 'HDL_JOB_FAILED' && (failure as Error).cause === error,
      'it is remembered',
    )
    bench.assertNothingLeft()
  }
})

test('W4 cancelled: so is its run', async () => {
  const gate = new Gate('one')
  const bench = await Bench.open([gate.job])
  await bench.acknowledge('one', 'a', { request: 'mine', slot: 'left' })
  await gate.started()
  await bench.acknowledge('one', 'b', { slot: 'left' })
  gate.finishAll()
  await bench.clock.settle()
  const states = (await bench.journal.runs()).map(({ state }) => state)
  assert.deepEqual(states.toSorted(), ['cancelled', 'finished'])
  bench.assertNothingLeft()
})
