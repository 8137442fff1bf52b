import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, final, job, run } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { JsonReporter, jsonResult } from '../../src/output/json-reporter.ts'
import { Paper, node, planOf } from '../support/output.ts'

test('one object per event, with wall time; errors are plain data', () => {
  const clock = new VirtualClock({ wallTime: 1_000_000 })
  const paper = new Paper()
  using reporter = new JsonReporter(paper.output, planOf(['a'], { concurrency: Infinity }, clock))
  reporter.observe({ type: 'start', at: 5, nodes: 1 })
  reporter.observe(
    node('a', 'retrying', { at: 10, attempt: 1, delay: 50, error: new TypeError('no') }),
  )
  reporter.observe({ type: 'log', at: 11, name: 'a', attempt: 1, text: 'two\nlines\u001b[2J' })
  reporter.notice('cancelling')
  reporter.gap({ startedAt: 7, ms: 60.5, label: 'job "a"', stack: ['f (x.ts:1:1)'], certain: true })
  assert.deepEqual(
    paper.lines.map((line) => JSON.parse(line) as unknown),
    [
      {
        type: 'start',
        at: 1_000_005,
        nodes: 1,
        title: 'nightly.ts',
        concurrency: null,
        journal: 'sqlite:runs.db',
      },
      {
        type: 'node',
        at: 1_000_010,
        name: 'a',
        state: 'retrying',
        attempt: 1,
        delay: 50,
        error: { name: 'TypeError', message: 'no' },
      },
      { type: 'log', at: 1_000_011, name: 'a', attempt: 1, text: 'two\nlines\u001b[2J' },
      { type: 'notice', at: 1_000_000, text: 'cancelling' },
      {
        type: 'gap',
        at: 7,
        ms: 60.5,
        blame: 'job "a" at f (x.ts:1:1)',
        label: 'job "a"',
        stack: ['f (x.ts:1:1)'],
        certain: true,
      },
    ],
  )
})

test('the error of an element or a step is plain data too', () => {
  const paper = new Paper()
  using reporter = new JsonReporter(paper.output, planOf(['a']))
  const part = { type: 'part', at: 0, name: 'a', path: '[1]', attempt: 0 } as const
  reporter.observe({ ...part, state: 'failed', error: new TypeError('no') })
  const { error } = JSON.parse(paper.lines[0]!) as { error: unknown }
  assert.deepEqual(error, { name: 'TypeError', message: 'no' })
})

test('the result names everything exactly once, in maps and lists of names', async () => {
  const g = new Graph()
  g.add(
    'fine',
    job({ name: 'fine' }, () => 1),
  )
  const bad = g.add(
    'bad',
    job({ name: 'bad' }, () => {
      throw final(Object.assign(new Error('no'), { code: 'E_NO' }))
    }),
  )
  g.add(
    'behind',
    job({ name: 'behind' }, () => 1),
    { after: [bad] },
  )
  const path = [{ name: 'fine', ms: 1.23456 }]
  const result = jsonResult(await run(g), { length: 1.23456, path })
  const { duration, ...rest } = JSON.parse(JSON.stringify(result)) as typeof result
  assert.equal(typeof duration, 'number')
  assert.deepEqual(rest, {
    ok: false,
    type: 'result',
    run: null,
    state: 'finished',
    succeeded: ['fine'],
    failed: { bad: { name: 'Error', message: 'no', code: 'E_NO', attempts: 1 } },
    blocked: { behind: 'bad' },
    skipped: [],
    cancelled: [],
    reused: [],
    criticalPath: { length: 1.235, path: [{ name: 'fine', ms: 1.235 }] },
  })
})

test('a suspended node names what it waits for, and the error of a part is plain data', async () => {
  const paper = new Paper()
  using reporter = new JsonReporter(paper.output, planOf(['a', 'm'], {}, new VirtualClock()))
  const answers = { a: { signal: 'approval', until: 7 }, m: undefined }
  const scheduler = {
    explain: (name: 'a' | 'm') => ({ name, why: 'suspended', waitsFor: answers[name] }),
  }
  reporter.started({ id: 'r1', scheduler: scheduler as never })
  reporter.observe(node('a', 'suspended', { at: 0 }))
  reporter.observe(node('m', 'suspended', { at: 0 }))
  const error = new TypeError('no')
  reporter.observe({
    type: 'part',
    at: 0,
    name: 'm',
    path: '[1]',
    state: 'failed',
    attempt: 0,
    error,
  })
  const [, a, m, part] = paper.lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(a!['waitsFor'], { signal: 'approval', until: 7 })
  assert.ok(!('waitsFor' in m!))
  assert.deepEqual(part!['error'], { name: 'TypeError', message: 'no' })
})
