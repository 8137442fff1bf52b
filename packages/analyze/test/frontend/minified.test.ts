import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMinified } from '../../src/frontend/minified.ts'

const statement = 'export const a = 1;'

test('a bundle on one line is minified, whether it is long or not', () => {
  assert.equal(isMinified(statement.repeat(600)), true)
  assert.equal(isMinified(statement.repeat(6_000)), true)
})

test('a short file on one line and a file with ordinary lines are not minified', () => {
  assert.equal(isMinified(statement.repeat(100)), false)
  assert.equal(isMinified(`${statement}\n`.repeat(6_000)), false)
})

test('a table of some long lines is minified only in a long file', () => {
  const row = `${'x'.repeat(400)}\n`
  assert.equal(isMinified(row.repeat(50)), false)
  assert.equal(isMinified(row.repeat(500)), true)
})
