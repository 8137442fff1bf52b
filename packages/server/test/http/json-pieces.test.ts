import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { systemKernel, type Clock } from '@heddle/core/lowlevel'
import { cutJson, joinJson } from '../../src/http/json-pieces.ts'

const { clock } = systemKernel

async function joined(text: string, size?: number): Promise<unknown> {
  return joinJson(cutJson(text, size), clock)
}

test('a text that is cut and joined has the same value as with JSON.parse', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.json({ maxDepth: 8 }),
      fc.constantFrom(undefined, 1, 3),
      fc.integer({ min: 1, max: 60 }),
      async (compact, indent, size) => {
        const value: unknown = JSON.parse(compact)
        const text = indent === undefined ? compact : JSON.stringify(value, null, indent)
        assert.ok(isDeepStrictEqual(await joined(text, size), JSON.parse(text)))
      },
    ),
  )
})

test('unusual forms of JSON are kept too', async () => {
  const texts = [
    '[-0, 1e999, -1e999, 1E-400, 12345678901234567890]',
    '{"a": 1, "b": [1, 2, 3], "a": [4, 5, 6]}',
    '{"__proto__": {"isAdmin": [1, 2, 3]}, "constructor": {"a": [1]}}',
    '{"0": [1, 2], "z": [[1], [2]], "10": 1, "9": {"": {"": []}}}',
    String.raw`{"a\"]}": ["\\", "\\\"", "[{,:"], ":": {":,": [1, 2, "\u0000"]}}`,
    ' [ [ ] , { } , [ [ [ 1 ] ] ] , { "a" : { "b" : [ ] } } ] ',
    '"text"',
    '-0',
    'null',
  ]
  for (const text of texts) {
    for (const size of [1, 2, 5, 10, 1_000]) {
      const value = await joined(text, size)
      assert.ok(isDeepStrictEqual(value, JSON.parse(text)), `${text} in pieces of ${size}`)
      assert.equal(JSON.stringify(value), JSON.stringify(JSON.parse(text)), 'order of keys')
    }
  }
  assert.equal(({} as { isAdmin?: unknown }).isAdmin, undefined)
})

test('no piece is longer than twice its usual size, unless one string is', () => {
  const size = 1_000
  const texts = {
    numbers: JSON.stringify(Array.from({ length: 20_000 }, (_, n) => n / 7)),
    objects: JSON.stringify(Array.from({ length: 2_000 }, (_, id) => ({ id, tags: ['a', 'b'] }))),
    keys: JSON.stringify(Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`k${n}`, n]))),
    deep: `${'['.repeat(900)}${'0,'.repeat(30_000)}0${']'.repeat(900)}`,
    'many deep ones': JSON.stringify(
      Array.from(
        { length: 20 },
        () => JSON.parse(`${'[['.repeat(450)}${'0,'.repeat(600)}0${']]'.repeat(450)}`) as unknown,
      ),
    ),
  }
  for (const [shape, text] of Object.entries(texts)) {
    const longest = Math.max(...cutJson(text, size).map((piece) => piece.length))
    assert.ok(longest <= 2 * size + 10, `${shape}: ${longest}`)
  }
})

test('S53 joining takes as many turns of the loop as it needs: other work runs in between', async () => {
  const text = JSON.stringify(Array.from({ length: 1_000 }, (_, n) => n))
  const pieces = cutJson(text, 100)
  let now = 0
  let turns = 0
  // A millisecond passes at every reading of the clock, as if each piece had taken it.
  const slow: Clock = {
    ...clock,
    now: () => now++,
    afterIo: (callback) => {
      turns++
      clock.afterIo(callback)
    },
  }
  assert.deepEqual(await joinJson(pieces, slow), JSON.parse(text))
  assert.ok(turns > pieces.length / 10, `${turns} turns for ${pieces.length} pieces`)
})
