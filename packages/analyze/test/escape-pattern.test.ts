import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { escapePattern } from '../src/escape-pattern.ts'

test('an escaped text matches itself and nothing else, with every flag and inside brackets', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, other) => {
      for (const flags of ['', 'u', 'v']) {
        const pattern = new RegExp(`^${escapePattern(text)}$`, flags)
        assert.ok(pattern.test(text), `${pattern} against ${JSON.stringify(text)}`)
        assert.equal(pattern.test(other), other === text)
      }
    }),
  )
  assert.ok(!new RegExp(`[a${escapePattern('-')}z]`).test('m'))
})
