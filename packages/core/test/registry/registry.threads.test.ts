import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker, threadId } from 'node:worker_threads'
import { Registry } from '../../src/registry/registry.ts'

test('S7 a result that a thread posts resolves the waiter on the loop', async () => {
  const registry = new Registry<{ sum: number; by: number }>()
  const worker = new Worker(
    `const { parentPort, threadId } = require('node:worker_threads')
     parentPort.postMessage({ sum: 40 + 2, by: threadId })`,
    { eval: true },
  )
  worker.on('message', (value: { sum: number; by: number }) => {
    registry.notifySuccess('h', 0, value)
  })
  const { sum, by } = await registry.wait('h', 0)
  assert.equal(sum, 42)
  assert.notEqual(by, threadId)
  assert.equal(registry.size, 0)
  await worker.terminate()
})
