import assert from 'node:assert/strict'
import test from 'node:test'
import { parseValue } from '../../src/runs/send.ts'

test('a value is JSON, or text that does not look like JSON', () => {
  assert.deepEqual(parseValue('{ "by": "Ada" }'), { by: 'Ada' })
  assert.deepEqual(['yes', 'approved by Ada: ok', '', "12 o'clock", undefined].map(parseValue), [
    'yes',
    'approved by Ada: ok',
    '',
    "12 o'clock",
    undefined,
  ])
  assert.deepEqual(['7', 'true', 'null', '"7"'].map(parseValue), [7, true, null, '7'])
})

test('a misspelt object, list or string is refused, and not delivered as a text', () => {
  for (const text of ['{by: Ada}', "{ 'by': 'Ada' }", '[1, 2', ' {', '"yes', '{"a":1}}']) {
    assert.throws(() => parseValue(text), {
      code: 'HDL_BAD_OPTION',
      message: /^Option "value" is .+, expected JSON \(.+\), or a text that does not begin with /,
    })
  }
})
