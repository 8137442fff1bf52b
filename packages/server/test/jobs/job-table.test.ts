import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { Capacity } from '@heddle/core/lowlevel'
import { checkNeeds, findJob, jobTable } from '../../src/jobs/job-table.ts'
import { serveJob } from '../../src/jobs/served-job.ts'
import { withCode } from '../support/told.ts'

const square = job({ name: 'square' }, (n: number) => n * n)
const cube = serveJob({ name: 'cube', prepare: job({ name: 'c' }, (n: number) => n ** 3) })

test('jobs and served jobs are found in a list, in exports and in a list in exports', () => {
  assert.deepEqual([...jobTable([square, cube]).keys()], ['square', 'cube'])
  const exported = {
    square,
    cube,
    helper: () => 1,
    version: '1.0',
    nothing: null,
    odd: { name: 'x' },
  }
  assert.deepEqual([...jobTable(exported).keys()], ['square', 'cube'])
  assert.deepEqual([...jobTable({ default: [square, cube] }).keys()], ['square', 'cube'])
  assert.equal(jobTable([cube]).get('cube'), cube)
})

test('exported by name and in the default list: one job', () => {
  assert.equal(jobTable({ square, default: [square, cube] }).size, 2)
})

test('two jobs of one name are refused; other exports are skipped', () => {
  const other = job({ name: 'square' }, (n: number) => n)
  assert.throws(() => jobTable([square, other]), withCode('HDL_BAD_OPTION'))
  assert.throws(() => jobTable([square, other]), /two jobs named "square"/)
  for (const nothing of [[], {}, { a: 1 }, [undefined, 'x']]) {
    assert.equal(jobTable(nothing).size, 0)
  }
})

test('a job that needs a resource the server does not have is refused with its name', () => {
  const capacity = new Capacity({ resources: { db: 2 } })
  const reads = job({ name: 'reads', needs: { db: 1 } }, () => 1)
  checkNeeds(jobTable([square, reads]), capacity)
  const misspelt = job({ name: 'misspelt', needs: { bd: 1 } }, () => 1)
  assert.throws(() => checkNeeds(jobTable([misspelt]), capacity), /of job misspelt/)
  const second = serveJob({ name: 'two', prepare: square, item: misspelt, total: 2 })
  assert.throws(() => checkNeeds(jobTable([second]), capacity), /of job misspelt/)
  const greedy = job({ name: 'greedy', needs: { db: 3 } }, () => 1)
  assert.throws(() => checkNeeds(jobTable([greedy]), capacity), withCode('HDL_WOULD_DEADLOCK'))
})

test('a job whose name cannot be part of an address is refused when the server starts', () => {
  const odd = job({ name: 'a b' }, () => 1)
  assert.throws(() => jobTable([odd]), withCode('HDL_BAD_OPTION'))
})

test('an unknown name is answered with a suggestion', () => {
  const table = jobTable([square, cube])
  assert.equal(findJob(table, 'cube'), cube)
  assert.throws(() => findJob(table, 'sqare'), /Did you mean "square"/)
  for (const name of ['', '__proto__', 'constructor', 'toString']) {
    assert.throws(() => findJob(table, name), withCode('HDL_UNKNOWN_JOB'))
  }
})
