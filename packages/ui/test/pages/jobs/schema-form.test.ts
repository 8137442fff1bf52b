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
    exact: { type: 'boolean', default: false },
  },
}

test('O1 a form has a field for each property, or one for the whole input', () => {
  const fields = fieldsOf(schema)
  assert.deepEqual(
    fields.map(({ name, title, kind, isRequired }) => [name, title, kind, isRequired]),
    [
      ['station', 'Station', 'text', true],
      ['days', 'days', 'number', false],
      ['unit', 'unit', 'choice', false],
      ['tags', 'tags', 'json', false],
      ['exact', 'exact', 'choice', false],
    ],
  )
  const wholes = [undefined, { type: 'string' }, { type: 'array' }].flatMap((each) =>
    fieldsOf(each),
  )
  assert.deepEqual(
    wholes.map(({ name, kind, title, isRequired }) => [name, kind, title, isRequired]),
    [
      ['', 'json', 'Input, as JSON', false],
      ['', 'text', 'Input', true],
      ['', 'json', 'Input, as JSON', true],
    ],
  )
})

test('O2 empty fields are left out, and choices keep their type', () => {
  const fields = fieldsOf(schema)
  const [unit, exact] = [fields[2]!, fields[4]!]
  assert.deepEqual(
    [unit, exact].map(({ choices, fallback }) => [choices.map(({ title }) => title), fallback]),
    [
      [['C', 'F'], ''],
      [['true', 'false'], 'false'],
    ],
  )
  const texts = {
    station: 'Oslo',
    days: '14',
    unit: unit.choices[0]!.value,
    exact: exact.choices[0]!.value,
    tags: '',
  }
  assert.deepEqual(valueOf(fields, texts), { station: 'Oslo', days: 14, unit: 'C', exact: true })
  assert.deepEqual(valueOf(fieldsOf(undefined), { '': '[1, 2]' }), [1, 2])
  assert.equal(valueOf(fieldsOf(undefined), {}), null)
  assert.equal(valueOf(fieldsOf({ type: 'string' }), { '': 'Oslo' }), 'Oslo')
})

test('O3 a mistake in JSON names its field', () => {
  assert.throws(() => valueOf(fieldsOf(schema), { tags: '[1,' }), /“tags” is not JSON/)
  assert.throws(() => valueOf(fieldsOf(undefined), { '': 'Oslo' }), /“Input, as JSON” is not JSON/)
  assert.throws(() => valueOf(fieldsOf({ type: 'array' }), {}), /“Input, as JSON” is not JSON/)
})
