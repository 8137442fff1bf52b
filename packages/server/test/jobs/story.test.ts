import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Story, type StageRow } from '../../src/jobs/story.ts'

const line = (number: number): StageRow => ({
  kind: 'log',
  node: 'prepare',
  attempt: 0,
  at: number,
  text: `line ${number}`,
})

test('rows are kept in order; a copy does not change any more', () => {
  const story = new Story()
  story.add(line(0))
  const rows = story.rows()
  story.add(line(1))
  assert.deepEqual(rows, [line(0)])
  assert.deepEqual(story.rows(), [line(0), line(1)])
})

test('the oldest rows of a long story are dropped, and counted', () => {
  const story = new Story()
  for (let number = 0; number < 1_005; number++) story.add(line(number))
  const [first, second, ...rest] = story.rows()
  assert.match((first as { text: string }).text, /^5 earlier rows were dropped/)
  assert.deepEqual(second, line(5))
  assert.deepEqual(rest.at(-1), line(1_004))
})
