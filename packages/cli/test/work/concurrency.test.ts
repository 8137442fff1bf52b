import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWorkerConcurrency, parseWorkerConcurrency } from '../../src/work/concurrency.ts'

test('a number is a total, places have numbers of their own', () => {
  assert.equal(parseWorkerConcurrency('4'), 4)
  assert.deepEqual(parseWorkerConcurrency('loop=50,thread=2'), { loop: 50, thread: 2 })
  assert.deepEqual(parseWorkerConcurrency('thread=2'), { thread: 2 })
})

test('any other value is refused', () => {
  for (const text of [
    '',
    '0',
    'x',
    'loop',
    'loop=',
    'loop=0',
    'fleet=2',
    'loop=1,loop=2',
    'loop=1;thread=2',
  ])
    assert.throws(() => parseWorkerConcurrency(text), { name: 'InvalidArgumentError' }, text)
})

test('the config file has the same two forms', () => {
  for (const value of [1, { loop: 50 }, { loop: 50, thread: 2 }])
    assert.ok(isWorkerConcurrency(value))
  for (const value of [0, '4', null, { loop: 0 }, { fleet: 2 }])
    assert.ok(!isWorkerConcurrency(value))
})
