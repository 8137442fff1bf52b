import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, isBytes } from '../../src/graph/bytes.ts'
import { isError } from '../../src/errors.ts'

test('text and bytes keep their content, and survive a copy to another thread', () => {
  for (const data of ['ü', new Uint8Array([195, 188]), new Uint8Array([195, 188]).buffer]) {
    const made = structuredClone(bytes(data, 'text/plain; charset=utf-8'))
    assert.ok(isBytes(made))
    assert.deepEqual([...made.data], [195, 188])
    assert.equal(made.type, 'text/plain; charset=utf-8')
  }
})

test('a value that is not a content type, or not data, is refused', () => {
  const wrong = (error: unknown): boolean => isError(error, 'HDL_BAD_OPTION')
  for (const type of ['', 'svg', 'a/b\r\nx: y', 'text/plain;ü', 7]) {
    assert.throws(() => bytes('x', type as string), wrong, String(type))
  }
  assert.throws(() => bytes(7 as unknown as string, 'a/b'), wrong)
  for (const value of [
    null,
    7,
    {},
    { heddle: 'bytes' },
    { heddle: 'bytes', type: 'a/b', data: [] },
  ]) {
    assert.equal(isBytes(value), false)
  }
})
