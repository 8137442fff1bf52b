import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RenewedShared } from '../../src/sync/renewed-shared.ts'

test('a failed resource is not given to new users, and is closed once its own users have left', async () => {
  const log: string[] = []
  let opened = 0
  const shared = new RenewedShared<{ readonly name: string; failed: boolean }>({
    open: (key) => ({ name: `${key} ${++opened}`, failed: false }),
    close: ({ name }, key) => void log.push(`${key}: ${name} closed`),
    isFailed: ({ failed }) => failed,
  })
  const first = await shared.use('a b')
  assert.equal((await shared.use('a b')).value, first.value)
  first.value.failed = true
  const [second, third] = await Promise.all([shared.use('a b'), shared.use('a b')])
  assert.deepEqual([second.value.name, third.value.name], ['a b 2', 'a b 2'])
  assert.deepEqual(log, [])
  await first[Symbol.asyncDispose]()
  assert.equal((await shared.use('other')).value.name, 'other 3')
  second.value.failed = true
  assert.equal((await shared.use('a b')).value.name, 'a b 4')
})
