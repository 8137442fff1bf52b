import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { serveJob, type ItemInput } from '../../src/jobs/served-job.ts'
import { withCode } from '../support/told.ts'

const load = job({ name: 'load' }, (csv: string) => csv.split('\n'))
const plot = job({ name: 'plot' }, ({ prepared, index }: ItemInput<string[]>) =>
  prepared.at(index - 1),
)

test('one result when nothing is said', () => {
  const served = serveJob({ name: 'load', prepare: load })
  assert.equal(served.totalOf('a\nb'), 1)
  assert.equal(served.item, undefined)
  assert.equal(served.check(7), undefined)
  assert.deepEqual([served.version, served.whenAbandoned, served.limits], ['', 'cancel', {}])
})

test('total is a number or a function of the input', () => {
  const fixed = serveJob({ name: 'plot', prepare: load, item: plot, total: 20 })
  assert.equal(fixed.totalOf('whatever'), 20)
  const counted = serveJob({
    name: 'plot',
    prepare: load,
    item: plot,
    total: (csv) => csv.split('\n').length,
  })
  assert.equal(counted.totalOf('a\nb\nc'), 3)
})

test('a total that is not a count is refused when it is asked for', () => {
  for (const total of [0, -1, 1.5, NaN, Infinity, 1_000_001, '3' as unknown as number]) {
    const served = serveJob({ name: 'plot', prepare: load, item: plot, total: () => total })
    assert.throws(() => served.totalOf('a'), withCode('HDL_BAD_OPTION'), String(total))
  }
})

test('several results need a function that makes them', () => {
  assert.throws(
    () => serveJob({ name: 'load', prepare: load, total: 2 }),
    withCode('HDL_BAD_OPTION'),
  )
  assert.throws(
    () => serveJob({ name: 'load', prepare: load, total: () => 1 }),
    withCode('HDL_BAD_OPTION'),
  )
  assert.equal(serveJob({ name: 'load', prepare: load, total: 1 }).totalOf('a'), 1)
})

test('a name is part of an address', () => {
  for (const name of ['a', 'A-b_9', 'x'.repeat(64)]) {
    assert.equal(serveJob({ name, prepare: load }).name, name)
  }
  for (const name of ['', 'a b', 'a/b', 'ä', 'x'.repeat(65), 'a\n', '.', '..']) {
    assert.throws(() => serveJob({ name, prepare: load }), withCode('HDL_BAD_OPTION'), name)
  }
})
