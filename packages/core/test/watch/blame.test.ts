import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { countWatch, currentBlame, isWatching, runBlamed } from '../../src/watch/blame.ts'

test('without a watch the work is only called', () => {
  assert.equal(isWatching(), false)
  assert.equal(
    runBlamed('label', () => currentBlame()),
    undefined,
  )
})

test('with a watch the label follows the work across awaits, and the innermost counts', async () => {
  countWatch(1)
  try {
    assert.equal(isWatching(), true)
    const seen = await runBlamed('outer', async () => {
      await turn()
      const inner = await runBlamed('inner', async () => {
        await turn()
        return currentBlame()
      })
      return [inner, currentBlame()]
    })
    assert.deepEqual(seen, ['inner', 'outer'])
    assert.equal(currentBlame(), undefined)
  } finally {
    countWatch(-1)
  }
})

test('work that runs at the same time keeps its own label', async () => {
  countWatch(1)
  try {
    const names = Array.from({ length: 20 }, (_, i) => `job "${i}"`)
    const seen = await Promise.all(
      names.map((name, i) =>
        runBlamed(name, async () => {
          for (let turns = i % 4; turns >= 0; turns--) await turn()
          return currentBlame()
        }),
      ),
    )
    assert.deepEqual(seen, names)
  } finally {
    countWatch(-1)
  }
})

test('an error of the work passes', () => {
  countWatch(1)
  try {
    assert.throws(
      () =>
        runBlamed('label', () => {
          throw new Error('broken')
        }),
      /broken/,
    )
  } finally {
    countWatch(-1)
  }
})
