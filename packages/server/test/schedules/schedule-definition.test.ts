import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph } from '@heddle/core'
import { graphTable } from '../../src/runs/graph-table.ts'
import { exportedSchedules } from '../../src/schedules/schedule-definition.ts'
import { schedule } from '../../src/schedules/schedule.ts'

const graph = new Graph()
const make = (): Graph => new Graph()

function read(exported: Record<string, unknown>) {
  const { definitions, graphs } = exportedSchedules(exported, graphTable(exported))
  return {
    names: definitions.map((each) => [each.id, each.graph]),
    graphs: [...graphs.keys()],
  }
}

test('a module exports one schedule, a list or an object of them; their graphs are registered', () => {
  const one = schedule('one', '0 3 * * *', graph)
  const two = schedule('two', '0 4 * * *', make)
  assert.deepEqual(read({ schedules: one }), {
    names: [['exported:one', 'schedule one']],
    graphs: ['schedule one'],
  })
  assert.deepEqual(read({ schedules: [one, two], graphs: { nightly: make }, graph }), {
    names: [
      ['exported:one', 'graph'],
      ['exported:two', 'nightly'],
    ],
    graphs: ['graph', 'nightly'],
  })
  assert.deepEqual(read({ schedules: { a: one } }).names, [['exported:one', 'schedule one']])
  assert.deepEqual(read({}).names, [])
  assert.deepEqual(read({ nightly: one }).names, [['exported:one', 'schedule one']])
  assert.deepEqual(read({ nightly: one, schedules: [one, two] }).names.length, 2)
})

test('values that are not schedules, and two of one name, are refused', () => {
  const one = schedule('one', '0 3 * * *', graph)
  const refused = (schedules: unknown, text: RegExp): void =>
    assert.throws(
      () => read({ schedules }),
      (error: { code: string; message: string }) =>
        error.code === 'HDL_BAD_OPTION' && text.test(error.message),
    )
  refused([one, { name: 'two' }], /schedule\('nightly'/)
  refused([one, schedule('one', '0 5 * * *', graph)], /different names/)
  refused('0 3 * * *', /schedule\('nightly'/)
})

test('schedule() refuses a graph that cannot be run by the clock', () => {
  const refused = (work: () => unknown, option: string): void =>
    assert.throws(work, (error: { details?: { option?: string } }) => {
      return error.details?.option === option
    })
  refused(() => schedule('', '0 3 * * *', graph), 'name')
  refused(() => schedule('a', '0 25 * * *', graph), 'cron')
  refused(() => schedule('a', '0 3 * * *', graph, { timezone: 'Mars/Base' }), 'timezone')
  refused(() => schedule('a', '0 3 * * *', {} as Graph), 'graph')
  refused(() => schedule('a', '0 3 * * *', graph, { overlap: 'both' as 'skip' }), 'overlap')
})
