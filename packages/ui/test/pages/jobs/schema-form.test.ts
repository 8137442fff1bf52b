import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldsOf, valueOf, type JsonSchema } from '../../../src/pages/jobs/schema-form.ts'

const schema: JsonSchema = {
  type: 'object',
  required: ['station'],
  properties: {
    station: { type: 'string', title: 'Station' },
    days: { type: 'integer' },
    unit: { enum: ['C', 'F'] },
    tags: { type: 'array' },
  },
}

test('O1 a field for each property, or one for the whole input', () => {
  const fields = fieldsOf(schema)
  assert.deepEqual(
    fields.map(({ name, title, kind, isRequired }) => [name, title, kind, isRequired]),
    [
      ['station', 'Station', 'text', true],
      ['days', 'days', 'number', false],
      ['unit', 'unit', 'choice', false],
      ['tags', 'tags', 'json', false],
    ],
  )
  assert.deepEqual(
    fieldsOf(undefined).map(({ name, kind }) => [name, kind]),
    [['', 'json']],
  )
})

test('O2 empty fields are left out, and choices keep their type', () => {
  const texts = { station: 'Oslo', days: '14', unit: '"C"', tags: '' }
  assert.deepEqual(valueOf(fieldsOf(schema), texts), { station: 'Oslo', days: 14, unit: 'C' })
  assert.deepEqual(valueOf(fieldsOf(null), { '': '[1, 2]' }), [1, 2])
})

test('O3 a mistake in JSON names its field', () => {
  assert.throws(() => valueOf(fieldsOf(schema), { tags: '[1,' }), /“tags” is not JSON/)
  assert.throws(() => valueOf(fieldsOf(null), {}), /“Input, as JSON” is not JSON/)
})
