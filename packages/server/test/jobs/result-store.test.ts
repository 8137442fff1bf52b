import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCache } from '@heddle/core/lowlevel'
import { ResultStore, type Stored } from '../../src/jobs/result-store.ts'
import { withCode } from '../support/told.ts'

async function open(): Promise<ResultStore> {
  return new ResultStore(await openCache<Stored>({ name: 'Results' }))
}

test('reads prepared data, and results made from it', async () => {
  const store = await open()
  assert.equal(await store.prepared('h'), undefined)
  const parent = await store.keepPrepared('h', { total: 2, value: undefined })
  assert.deepEqual((await store.prepared('h'))?.value, { total: 2, value: undefined })
  await store.keepItem('h', -1, null, parent!)
  assert.deepEqual(await store.item('h', -1), { value: null })
  assert.equal(await store.item('h', 0), undefined)
  assert.equal(await store.isWhole('h'), false)
  await store.keepWhole('h', parent!)
  assert.equal(await store.isWhole('h'), true)
})

test('replacing the first stage removes the results made from it, and late results of the old one are refused', async () => {
  const store = await open()
  const old = await store.keepPrepared('h', { total: 2, value: 'old' })
  await store.keepItem('h', 0, 'old', old!)
  await store.keepWhole('h', old!)
  const parent = await store.keepPrepared('h', { total: 2, value: 'new' })
  assert.equal(await store.item('h', 0), undefined)
  assert.equal(await store.isWhole('h'), false)
  await assert.rejects(store.keepItem('h', -1, 'late', old!), withCode('HDL_GONE'))
  await assert.rejects(store.keepWhole('h', old!), withCode('HDL_GONE'))
  await store.keepItem('h', -1, 'new', parent!)
  assert.deepEqual(await store.item('h', -1), { value: 'new' })
})

test('delete and clear take everything of a handle, and say whether there was something', async () => {
  const store = await open()
  for (const handle of ['a', 'b']) {
    const parent = await store.keepPrepared(handle, { total: 1, value: 1 })
    await store.keepItem(handle, 0, 2, parent!)
  }
  assert.equal(await store.delete('a'), true)
  assert.equal(await store.delete('a'), false)
  assert.equal(await store.item('a', 0), undefined)
  assert.deepEqual(await store.item('b', 0), { value: 2 })
  await store.clear()
  assert.equal(await store.prepared('b'), undefined)
  assert.equal(await store.item('b', 0), undefined)
})
