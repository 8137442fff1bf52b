import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writtenName } from '../../../src/frontend/types/names.ts'

test('generated names count as no name', () => {
  for (const invented of ['__type', '__object', '__function', 'default', 'export=', '"/x/a"', '']) {
    assert.equal(writtenName(invented), undefined, invented)
  }
  assert.equal(writtenName('__#17@#session'), '#session')
  assert.equal(writtenName('connect'), 'connect')
})
