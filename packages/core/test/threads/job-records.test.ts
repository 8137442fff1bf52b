import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  JobRecords,
  loadBudget,
  loadOf,
  observeLoop,
  observeRun,
  wholeThread,
} from '../../src/threads/job-records.ts'

test('a job is known by module and name', () => {
  const records = new JobRecords()
  const a = records.get('file:///m', 'a')
  assert.equal(records.get('file:///m', 'a'), a)
  assert.notEqual(records.get('file:///n', 'a').id, a.id)
  assert.equal([...records].length, 2)
})

test('an unknown job counts as long; a measured one by its time, in the thread and on the loop', () => {
  const record = new JobRecords().get('file:///m', 'a')
  assert.equal(loadOf(record), wholeThread)
  observeRun(record, 0.002)
  assert.equal(loadOf(record), 0.002)
  for (let index = 0; index < 200; index++) observeLoop(record, 1)
  assert.ok(Math.abs(loadOf(record) - 1.002) < 1e-6)
})

test('after one long run among short ones the next task is sent alone', () => {
  const record = new JobRecords().get('file:///m', 'a')
  for (let index = 0; index < 100; index++) observeRun(record, 0.01)
  observeRun(record, 500)
  assert.ok(loadOf(record) > loadBudget)
  for (let index = 0; index < 100; index++) observeRun(record, 0.01)
  assert.ok(loadOf(record) < loadBudget)
})
