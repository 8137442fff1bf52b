import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { VirtualClock } from '@heddle/core/testing'
import { RequestLimit } from '../../../src/frontend/types/request-limit.ts'

interface Limited {
  readonly clock: VirtualClock
  readonly words: Int32Array
  readonly killed: number[]
  readonly limit: RequestLimit
}

/** A limit of 100 ms, and processes that are only noted when they are killed. */
function limited(t: TestContext): Limited {
  const killed: number[] = []
  t.mock.method(process, 'kill', (pid: number) => killed.push(pid))
  const clock = new VirtualClock()
  const limit = new RequestLimit(100, clock)
  t.after(() => limit.close())
  const words = new Int32Array(limit.shared)
  words[1] = 7
  return { clock, words, killed, limit }
}

test('I1: one request that is under way for a whole limit ends the compiler', async (t) => {
  const { clock, words, killed } = limited(t)
  words[0] = 1
  await clock.advance(100)
  assert.deepEqual(killed, [], 'it was seen for the first time after 10 ms')
  await clock.advance(10)
  assert.deepEqual(killed, [7])
})

test('I1: the limit does not apply to requests one after the other, or to a pause', async (t) => {
  const { clock, words, killed } = limited(t)
  for (let request = 1; request < 20; request++) {
    words[0] = request
    await clock.advance(90)
  }
  words[0] = 20
  await clock.advance(1000)
  assert.deepEqual(killed, [])
})

test('the end aborts running requests, and is recorded for the others', (t) => {
  for (const [requests, expected] of [
    [2, []],
    [3, [7]],
  ] as const) {
    const { words, killed, limit } = limited(t)
    words[0] = requests
    limit.end()
    assert.deepEqual(killed, expected)
    assert.equal(words[2], 1)
    t.mock.restoreAll()
  }
})

test('a compiler that is not known is not ended', async (t) => {
  const { clock, words, killed } = limited(t)
  words[0] = 1
  words[1] = 0
  await clock.advance(1000)
  assert.deepEqual(killed, [])
})
