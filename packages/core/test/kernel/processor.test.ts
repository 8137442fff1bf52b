import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openProcessor, parseSchedulerLine } from '../../src/kernel/processor.ts'

test('the line of the kernel gives the milliseconds on a processor and in the run queue', () => {
  assert.deepEqual(parseSchedulerLine('7000000 2500000 17\n'), { ran: 7, queued: 2.5 })
  assert.deepEqual(parseSchedulerLine('7000000 0 1\n'), { ran: 7, queued: 0 })
})

test('a kernel that does not count, and a line of another form, give nothing', () => {
  for (const line of ['0 0 0\n', '', 'nothing', '5']) {
    assert.equal(parseSchedulerLine(line), undefined)
  }
})

test('times of this thread never run backwards', () => {
  using processor = openProcessor()
  const before = processor.read()
  const after = processor.read()
  for (const key of ['ran', 'queued'] as const) {
    if (before[key] !== undefined) assert.ok(after[key]! >= before[key])
  }
})
