import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeddleError } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { makeVersionWatch } from '../../src/cluster/version-watch.ts'

test('C11: a server that is too old is reported once; a database that is away does not count', async () => {
  const clock = new VirtualClock()
  const answers: (Error | undefined)[] = []
  const found: Error[] = []
  let looks = 0
  const watch = makeVersionWatch({
    clock,
    database: {
      async checkVersion() {
        looks++
        const answer = answers.shift()
        if (answer !== undefined) throw answer
      },
    },
    onTooOld: (error) => found.push(error),
  })
  await watch.start()
  const away = { store: 'It', action: 'be read', cause: 'it does not answer' }
  const newer = new HeddleError('HDL_JOURNAL_NEWER', { path: 'It', found: 12, known: 10 })
  answers.push(undefined, new HeddleError('HDL_STORE_FAILED', away))
  await clock.advance(4_000)
  assert.deepEqual([looks, found.length], [2, 0])
  answers.push(newer)
  await clock.advance(60_000)
  assert.deepEqual([looks, found], [3, [newer]])
  await watch.stop()
})
