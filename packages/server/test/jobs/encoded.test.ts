import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytes } from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { encodeResult, encodeSmall, isEncoded } from '../../src/jobs/encoded.ts'

const { clock } = systemKernel

const text = async (value: unknown): Promise<string> =>
  Buffer.from((await encodeResult(value, clock)).bytes).toString()

test('the JSON is that of JSON.stringify, whatever the size', async () => {
  const many = Array.from({ length: 5_000 }, (_, n) => ({ n, 'ü"': `${n}`, none: undefined }))
  const long = '😀\ud800"\\\n'.repeat(40_000)
  const at = new Date(0)
  for (const value of [
    many,
    long,
    { a: many, b: [], c: {}, at, d: [undefined, long] },
    [many, [many]],
  ]) {
    assert.equal(await text(value), JSON.stringify(value))
    assert.equal(encodeSmall(value), undefined, 'it is too large for one step')
  }
  assert.equal(await text(undefined), 'null')
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 6 }), async (value) => {
      assert.equal(await text(value), JSON.stringify(value))
    }),
    { numRuns: 200 },
  )
})

test('bytes are stored unchanged, with their type; each computation has its own tag', async () => {
  const data = new Uint8Array([1, 2, 3])
  const one = await encodeResult(bytes(data, 'image/png'), clock)
  const two = await encodeResult(bytes(data, 'image/png'), clock)
  assert.equal(one.bytes, data)
  assert.equal(one.type, 'image/png')
  assert.notEqual(one.etag, two.etag)
  assert.ok(isEncoded(structuredClone(one)))
  assert.equal(isEncoded({ heddle: 'encoded' }), false)
})

test('S52 a large value is written in slices: other work has a turn in between', async () => {
  const large = Array.from({ length: 200_000 }, (_, n) => ({ n, text: `row ${n}` }))
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) clock.afterIo(count)
  }
  clock.afterIo(count)
  await encodeResult(large, clock)
  isDone = true
  assert.ok(turns > 5, `${turns} turns`)
})
