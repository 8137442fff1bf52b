import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as analyzer from '@heddle/analyze'
import { failOnChoices, levels } from '../../src/analyze/choices.ts'

test('the options accept all values of the analyzer', () => {
  assert.deepEqual(levels, analyzer.levels)
  assert.deepEqual(failOnChoices, analyzer.failOnChoices)
})
