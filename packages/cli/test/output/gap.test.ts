import assert from 'node:assert/strict'
import test from 'node:test'
import { describeGap, shortenPaths } from '../../src/output/gap.ts'

const gap = { startedAt: 0, ms: 60, label: undefined, stack: [], certain: true }

test('the cause of the gap, in one line, with files relative to this folder', () => {
  assert.equal(describeGap(gap), 'no stack could be taken')
  assert.equal(
    describeGap({
      ...gap,
      label: 'job "parse"',
      stack: [`parse (file://${process.cwd()}/a/jobs.ts:1:2)`],
    }),
    'job "parse" at parse (a/jobs.ts:1:2)',
  )
  const stack = ['now (/r/packages/core/src/kernel/clock.ts:57:26)', 'jobs.ts:8:3']
  assert.equal(describeGap({ ...gap, stack }), 'jobs.ts:8:3')
  assert.equal(describeGap({ ...gap, stack: stack.slice(0, 1) }), stack[0])
  assert.match(describeGap({ ...gap, label: 'x', certain: false }), /^x \(seen late/)
  assert.equal(describeGap({ ...gap, label: 'x\u001b[2J' }), 'x')
})

test('a gap of the garbage collector accuses no code', () => {
  const collection = { ...gap, collector: 50.4, isCollection: true as const }
  assert.equal(describeGap(collection), 'the garbage collector, 50 of 60 ms')
})

test('paths outside of the folder stay whole', () => {
  assert.equal(
    shortenPaths('/a/b/c.ts:1 /a/x.ts file:///a/b/d%20e.ts:2:3', '/a/b'),
    'c.ts:1 /a/x.ts d e.ts:2:3',
  )
})
