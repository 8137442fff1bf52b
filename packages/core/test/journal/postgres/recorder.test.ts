import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BatchWire, Cell } from '../../../src/journal/batch.ts'
import { CountFold } from '../../../src/journal/run-fold.ts'
import { GroupRecorder } from '../../../src/journal/postgres/recorder.ts'
import { Kind, nodesDetail } from '../../../src/journal/rows.ts'
import type { Link } from '../../../src/store/postgres/database-link.ts'
import { testKernel } from '../../sync/support.ts'

/** The number of nodes that one row of a run describes. */
const nodesPerRow = 256

function describing(row: number): Cell[] {
  const nodes = Array.from({ length: nodesPerRow }, (_, index) => ({
    name: `node ${row}.${index}`,
    job: 'nothing',
    place: 'loop' as const,
    after: [],
  }))
  return [0, Kind.nodes, null, null, null, 0, nodesDetail(nodes)]
}

const batchOf = (batch: number, rows: readonly Cell[][]): BatchWire => ({
  batch,
  rows: rows.flat(),
  results: [],
  hasFiles: false,
  bodies: undefined,
  changes: [],
})

test('descriptions of many nodes go in several statements, in their order; no batch is reported before its last row', async () => {
  const { clock } = testKernel()
  /** Positions that the lane had reached when a statement was sent. */
  const sent: number[] = []
  const durable: string[] = []
  const lane = { id: 'a', run: 1, epoch: 1, period: 1, position: 0, counts: new CountFold() }
  const link = {
    call: async () => {
      sent.push(lane.position)
      return [[null]]
    },
  } as unknown as Link
  const recorder = new GroupRecorder({
    link,
    schema: 'x',
    isDurable: true,
    clock,
    retryFor: 0,
    onDurable: (_lane, batch) => void durable.push(`${batch} at ${lane.position}`),
    onLost: () => assert.fail('lost'),
    onFailed: (error) => assert.fail(error),
  })
  const rows = Array.from({ length: 40 }, (_, row) => describing(row))
  recorder.push(lane, batchOf(1, rows))
  recorder.push(lane, batchOf(2, [describing(40)]))
  await recorder.waitIdle()
  const widths = sent.map((position, index) => position - (sent[index - 1] ?? 0))
  const most = Math.floor(100_000 / String(rows[39]![6]).length)
  assert.ok(sent.length >= 4, `${sent.length} statements`)
  assert.ok(Math.max(...widths) <= most + 1, `${widths.join(', ')} rows, at most ${most}`)
  assert.equal(lane.position, 41)
  assert.deepEqual(lane.counts.counts(), { waiting: 41 * nodesPerRow })
  assert.deepEqual(durable, ['1 at 41', '2 at 41'])
})

test('a description that is longer than a statement may hold goes alone', async () => {
  const { clock } = testKernel()
  let statements = 0
  const lane = { id: 'a', run: 1, epoch: 1, period: 1, position: 0, counts: new CountFold() }
  const link = { call: async () => (statements++, [[null]]) } as unknown as Link
  const durable: number[] = []
  const recorder = new GroupRecorder({
    link,
    schema: 'x',
    isDurable: true,
    clock,
    retryFor: 0,
    onDurable: (_lane, batch) => void durable.push(batch),
    onLost: () => assert.fail('lost'),
    onFailed: (error) => assert.fail(error),
  })
  const long: Cell[] = [0, Kind.nodes, null, null, null, 0, `["${'x'.repeat(200_000)}"]`]
  recorder.push(lane, batchOf(1, [long, long]))
  recorder.push(lane, batchOf(2, []))
  await recorder.waitIdle()
  assert.equal(statements, 2)
  assert.deepEqual(durable, [1, 2])
})
