import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { job } from '@heddle/core'
import { ThreadPool, systemKernel } from '@heddle/core/lowlevel'
import { handleOf } from '../../src/jobs/handle.ts'
import { readInput, type ReadMeans } from '../../src/jobs/read-input.ts'
import { serveJob } from '../../src/jobs/served-job.ts'
import { withCode } from '../support/told.ts'

const served = serveJob({ name: 'echo', prepare: job({ name: 'echo' }, () => 1), version: '2' })
const { clock } = systemKernel
const loopBody = 64 * 1_024
const untilOver: ReadMeans['untilOver'] = (signal, work) => work(signal!)
const means = { clock, loopBody, untilOver }
const never = new AbortController().signal

test('small texts need no thread, large texts get the same handle from one', async () => {
  await using chores = new ThreadPool({ threads: 1 })
  const small = { b: 1, a: 2 }
  const { input, handle } = await readInput(
    served,
    undefined,
    JSON.stringify(small),
    { chores, ...means },
    {
      signal: never,
    },
  )
  assert.deepEqual(input, small)
  assert.equal(handle, handleOf(served, small))
  assert.equal(chores.stats().threads.length, 0)
  const large = { text: 'x'.repeat(100_000), ...small }
  const read = await readInput(
    served,
    undefined,
    JSON.stringify(large),
    { chores, ...means },
    { signal: never },
  )
  assert.deepEqual(read.input, large)
  assert.equal(read.handle, handleOf(served, { ...small, text: large.text }))
  assert.equal(chores.stats().threads.length, 1)
})

test('nothing is null', async () => {
  await using chores = new ThreadPool({ threads: 1 })
  for (const text of [undefined, '']) {
    assert.deepEqual(
      await readInput(served, undefined, text, { chores, ...means }, { signal: never }),
      {
        input: null,
        handle: handleOf(served, null),
      },
    )
  }
})

test('a text that is not JSON, or nested too deeply, is refused on the loop and in the thread alike', async () => {
  await using chores = new ThreadPool({ threads: 1 })
  const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  for (const text of ['{', ' ', `"${'x'.repeat(100_000)}`, deep(5_000), deep(50_000)]) {
    await assert.rejects(
      readInput(served, undefined, text, { chores, ...means }, { signal: never }),
      withCode('HDL_BAD_INPUT'),
    )
  }
})

test('the body of a client that has left is not read', async () => {
  await using chores = new ThreadPool({ threads: 1 })
  const text = JSON.stringify('x'.repeat(100_000))
  await assert.rejects(
    readInput(served, undefined, text, { chores, ...means }, { signal: AbortSignal.abort() }),
    withCode('HDL_CANCELLED'),
  )
})

test('S53 the loop parses no text that is longer than its limit, whatever its shape', async () => {
  await using chores = new ThreadPool({ threads: 1 })
  const texts = [
    JSON.stringify(Array.from({ length: 10_000 }, (_, n) => n / 7)),
    JSON.stringify(Object.fromEntries(Array.from({ length: 8_000 }, (_, n) => [`k${n}`, n]))),
    `${'['.repeat(900)}${'0,'.repeat(40_000)}0${']'.repeat(900)}`,
  ]
  for (const text of texts) {
    const value: unknown = JSON.parse(text)
    const parse = mock.method(JSON, 'parse')
    const { input, handle } = await readInput(
      served,
      undefined,
      text,
      { chores, ...means },
      { signal: never },
    )
    const longest = Math.max(...parse.mock.calls.map(({ arguments: [one] }) => one.length))
    parse.mock.restore()
    assert.ok(longest <= loopBody, `${longest} characters`)
    assert.deepEqual(input, value)
    assert.equal(handle, handleOf(served, value))
  }
})
