import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { VirtualClock } from '@heddle/core/testing'
import { findProblem } from '../../src/jobs/usable.ts'

const clock = new VirtualClock()

test('plain data has no problem, however it is put together', async () => {
  const shared = { a: 1 }
  const all = [undefined, null, 'a', -0, [shared, shared], { a: { b: [new Date(0)] } }]
  for (const value of [...all, new Uint8Array(3)]) {
    assert.equal(await findProblem(value, true, clock), undefined)
  }
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      assert.equal(await findProblem(value, true, clock), undefined)
    }),
  )
})

test('a value that the store or JSON would refuse is found, wherever it is', async () => {
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
    [new Map([[1, 2]]), /instance of Map, which JSON/],
    [new Set([1]), /instance of Set, which JSON/],
    [new ArrayBuffer(3), /instance of ArrayBuffer, which JSON/],
    [Number.NaN, /NaN, which JSON/],
    [-Infinity, /-Infinity, which JSON/],
    [{ toJSON: () => 1 }, /function/],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
    [[1, , 2], /hole in an array, which JSON/],
  ]
  for (const [value, problem] of found) {
    for (const where of [value, [1, value], { a: { b: value } }]) {
      assert.match((await findProblem(where, true, clock)) ?? 'none', problem)
    }
  }
})

test('a refused value is named with its place', async () => {
  const problemOf = (value: unknown): Promise<string | undefined> => findProblem(value, true, clock)
  assert.equal(await problemOf(Number.NaN), 'it has NaN, which JSON does not know')
  assert.equal(
    await problemOf({ rows: [1, { mean: Number.NaN }] }),
    'at rows[1].mean it has NaN, which JSON does not know',
  )
})

test('a value that is only stored may have forms that JSON does not know', async () => {
  let deep: unknown = 1
  for (let level = 0; level < 5_000; level++) deep = [deep]
  const stored = [10n, deep, Number.NaN, new Map([[1, new Set([2])]]), new ArrayBuffer(3)]
  for (const value of stored) assert.equal(await findProblem(value, false, clock), undefined)
  assert.match((await findProblem([() => 1], false, clock)) ?? 'none', /function/)
})

test('a large value leaves turns to other work', async () => {
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

test('holes of a stored value are skipped, and values behind them are found', async () => {
  const sparse: unknown[] = [1]
  sparse[4_000_000_000] = 2
  const problemOf = async (isAnswered: boolean): Promise<string | undefined> => {
    const found = findProblem({ sparse }, isAnswered, clock)
    await clock.settle()
    return found
  }
  assert.equal(await problemOf(false), undefined)
  sparse[4_000_000_001] = () => 1
  assert.equal(await problemOf(false), 'at sparse[4000000001] it has a function')
  assert.equal(
    await problemOf(true),
    'at sparse[1] it has a hole in an array, which JSON does not know',
  )
})
