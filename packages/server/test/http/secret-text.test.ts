import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secretText } from '../../src/http/secret-text.ts'

test('secretText gives texts of the asked length, each once, also over the end of its pool', () => {
  const texts = Array.from({ length: 2_000 }, (_, index) => secretText(index % 2 === 0 ? 16 : 12))
  assert.equal(new Set(texts).size, texts.length)
  for (const [index, text] of texts.entries()) {
    assert.equal(Buffer.from(text, 'base64url').length, index % 2 === 0 ? 16 : 12)
  }
  // No text is the continuation of the one before.
  const all = texts.map((text) => Buffer.from(text, 'base64url').toString('latin1'))
  assert.equal(new Set(all.map((bytes) => bytes.slice(0, 8))).size, all.length)
})
