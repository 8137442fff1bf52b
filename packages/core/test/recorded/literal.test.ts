import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { literalOf, quoted } from '../../src/recorded/literal.ts'

/** The value of the text. */
function evaluate(text: string): unknown {
  // oxlint-disable-next-line typescript/no-implied-eval -- what the text makes is what is tested
  return new Function(`return (${text})`)() as unknown
}

test('property: plain data is read back unchanged', () => {
  const data = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withUnicodeString: true,
    withNullPrototype: false,
  })
  fc.assert(
    fc.property(data, (value) => {
      // Node 22 does not find an invalid date in an equal set: it has a test of its own.
      fc.pre(!inspect(value, { depth: Infinity }).includes('Invalid Date'))
      const text = literalOf(value, Infinity)!
      assert.deepEqual(evaluate(text), value)
    }),
    { numRuns: 500 },
  )
})

test('an invalid date comes back as an invalid date', () => {
  const [date] = evaluate(literalOf(new Set([new Date(NaN)]), 100)!) as Set<unknown>
  assert.ok(date instanceof Date)
  assert.equal(date.getTime(), NaN)
})

test('property: any string is quoted, and in one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      assert.equal(evaluate(quoted(value)), value)
      assert.doesNotMatch(quoted(value), /[\n\r]/)
    }),
  )
  assert.equal(quoted(`it's "so"`), `'it\\'s "so"'`)
})

test('a key that would set the prototype does not', () => {
  const value = JSON.parse('{"__proto__": 1, "a b": 2, "ok": 3}') as object
  assert.equal(literalOf(value, 100), `{ ['__proto__']: 1, 'a b': 2, ok: 3 }`)
})

test('values that are too long, or not plain data, are left out', () => {
  assert.equal(literalOf('x'.repeat(101), 100), undefined)
  assert.equal(literalOf(new Uint8Array(1e8), 100), undefined)
  assert.equal(literalOf([[() => 1]], 100), undefined)
  assert.equal(literalOf(new DataView(new ArrayBuffer(1)), 100), undefined)
  assert.equal(literalOf(new Uint8Array([1, 2]).buffer, 100), 'new Uint8Array([1, 2]).buffer')
})
