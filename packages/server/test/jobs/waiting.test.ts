import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bench } from '../support/bench.ts'
import { Gate } from '../support/gates.ts'
import { codeOf, told } from '../support/told.ts'

test('a caller that is answered "pending" after its wait is pending, one that is out of time is a timeout', async () => {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job])
  const submit = told(bench.compute('one', 'a', { wait: 5 }))
  await bench.clock.settle()
  await bench.clock.advance(5)
  const { handle } = submit.value!
  const poll = told(bench.result(handle, { wait: 0 }))
  const impatient = told(bench.result(handle, { wait: 100, deadline: 10 }))
  await bench.clock.settle()
  await bench.clock.advance(10)
  assert.deepEqual([submit.value?.isDone, poll.value?.isDone], [false, false])
  assert.equal(codeOf(impatient.error), 'HDL_TIMEOUT')
  const { pending, timeout } = bench.service.stats().outcomes
  assert.deepEqual({ pending, timeout }, { pending: 2, timeout: 1 })
  gate.finishAll()
  await bench.clock.settle()
  bench.assertNothingLeft()
})

test('a store that hangs does not hang a submit: it is answered at its deadline, and nothing is left', async () => {
  const gate = new Gate<string>('one')
  const bench = await Bench.open([gate.job])
  const { promise: hangs, resolve: goOn } = Promise.withResolvers<void>()
  bench.store.hold = hangs
  const asked = told(bench.acknowledge('one', 'a', { deadline: 50 }))
  await bench.clock.settle()
  await bench.clock.advance(50)
  assert.equal(codeOf(asked.error), 'HDL_TIMEOUT')
  assert.match(String(asked.error), /\(request\)/)
  goOn()
  await bench.clock.settle()
  assert.equal(gate.starts.length, 0, 'nobody was promised anything')
  bench.assertNothingLeft()
})
