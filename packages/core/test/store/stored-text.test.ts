import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromStored, toStored } from '../../src/store/stored-text.ts'

test('any text is read back unchanged, and the stored form is valid UTF-8 without U+0000', () => {
  const unit = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }),
    fc.constantFrom(0, 0x1a, 0x30, 0xd800, 0xdbff, 0xdc00, 0xdfff),
  )
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = String.fromCharCode(...units)
      const stored = toStored(text)
      assert.ok(stored.isWellFormed() && !stored.includes('\0'))
      assert.equal(fromStored(stored), text)
    }),
  )
})

test('ordinary text is stored unchanged', () => {
  for (const text of ['', 'warp', 'Schütze 🧵', 'line\nline\t\\x1a']) {
    assert.equal(toStored(text), text)
  }
})
