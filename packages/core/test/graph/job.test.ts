import assert from 'node:assert/strict'
import test from 'node:test'
import { isError } from '../../src/errors.ts'
import { job, jobsOf } from '../../src/graph/job.ts'

test('a job runs on the loop unless it says otherwise', () => {
  assert.equal(job({ name: 'a' }, () => 1).place, 'loop')
})

test('a thread job must say where it is defined', () => {
  assert.throws(
    () => job({ name: 'a', place: 'thread' }, () => 1),
    (error) => isError(error, 'HDL_THREAD_MODULE') && /import\.meta\.url/.test(error.help),
  )
})

test('jobs are found by module and name', () => {
  const module = 'file:///somewhere.ts'
  const a = job({ name: 'a', module }, () => 1)
  job({ name: 'b', module }, () => 2)
  assert.deepEqual([...jobsOf(module).keys()], ['a', 'b'])
  assert.equal(jobsOf(module).get('a'), a)
  assert.equal(jobsOf('file:///nowhere.ts').size, 0)
})

test('a job without a name is refused', () => {
  assert.throws(
    () => job({ name: '' }, () => 1),
    (error) => isError(error, 'HDL_BAD_OPTION'),
  )
})
