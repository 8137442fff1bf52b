import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { VirtualClock } from '@heddle/core/testing'
import { findProblem } from '../../src/service/usable.ts'

const clock = new VirtualClock()

test('plain data has no problem, however it is put together', async () => {
  const shared = { a: 1 }
  const all = [undefined, null, 'a', -0, [shared, shared], { a: { b: [new Date(0)] } }]
  for (const value of [...all, new Map([['a', shared]]), new Set([1]), new Uint8Array(3)]) {
    assert.equal(await findProblem(value, true, clock), undefined)
  }
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      assert.equal(await findProblem(value, true, clock), undefined)
    }),
  )
})

test('what the store or JSON would refuse is found, wherever it is', async () => {
  const circular: Record<string, unknown> = {}
  circular['a'] = { b: [circular] }
  let deep: unknown = 1
  for (let level = 0; level < 50_000; level++) deep = [deep]
  const unreadable = {
    get value(): never {
      throw new Error('not today')
    },
  }
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const found: [unknown, RegExp][] = [
    [10n, /bigint/],
    [() => 1, /function/],
    [Symbol('s'), /symbol/],
    [circular, /contains itself/],
    [deep, /deeper than 1000/],
    [unreadable, /cannot be read: not today/],
    [proxy, /cannot be read/],
    [new WeakMap(), /instance of WeakMap/],
    [{ toJSON: () => 1 }, /function/],
  ]
  for (const [value, problem] of found) {
    for (const where of [value, [1, value], { a: { b: value } }, new Map([[1, value]])]) {
      assert.match((await findProblem(where, true, clock)) ?? 'none', problem)
    }
  }
})

test('what is only stored may have what JSON does not know', async () => {
  let deep: unknown = 1
  for (let level = 0; level < 5_000; level++) deep = [deep]
  for (const value of [10n, deep]) assert.equal(await findProblem(value, false, clock), undefined)
  assert.match((await findProblem([() => 1], false, clock)) ?? 'none', /function/)
})

test('a large value lets others have their turn', async () => {
  const found = findProblem(
    Array.from({ length: 100_000 }, (_, n) => n),
    true,
    clock,
  )
  let isOver = false
  void found.then(() => (isOver = true))
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  assert.equal(isOver, false)
  await clock.settle()
  assert.equal(await found, undefined)
})
