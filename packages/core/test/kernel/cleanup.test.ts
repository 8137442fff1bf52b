import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CleanupStack } from '../../src/kernel/cleanup.ts'

test('C1: clean-ups run in reverse order, one after the other, once', async () => {
  const log: string[] = []
  const stack = new CleanupStack()
  stack.defer(() => void log.push('first'))
  stack.use({ [Symbol.dispose]: () => void log.push('sync') })
  stack.use({
    async [Symbol.asyncDispose]() {
      log.push('begin')
      await Promise.resolve()
      log.push('end')
    },
  })
  const undone = stack[Symbol.asyncDispose]()
  assert.deepEqual(log, ['begin'], 'it begins at once')
  await undone
  await stack[Symbol.asyncDispose]()
  assert.deepEqual(log, ['begin', 'end', 'sync', 'first'])
})

test('C2: a failure does not keep the other clean-ups from running', async () => {
  const log: string[] = []
  const stack = new CleanupStack()
  stack.defer(() => void log.push('first'))
  stack.defer(() => {
    throw new Error('one')
  })
  await assert.rejects(stack[Symbol.asyncDispose](), /one/)
  assert.deepEqual(log, ['first'])

  stack.defer(() => Promise.reject(new Error('two')))
  stack.defer(() => Promise.reject(new Error('three')))
  await assert.rejects(stack[Symbol.asyncDispose](), (error: AggregateError) => {
    assert.deepEqual(
      error.errors.map((each: Error) => each.message),
      ['three', 'two'],
    )
    return true
  })
})

test('C3: after move() only the new stack undoes', async () => {
  const log: string[] = []
  const stack = new CleanupStack()
  stack.defer(() => void log.push('undone'))
  const moved = stack.move()
  await stack[Symbol.asyncDispose]()
  assert.deepEqual(log, [])
  await moved[Symbol.asyncDispose]()
  assert.deepEqual(log, ['undone'])
})
