import assert from 'node:assert/strict'
import test from 'node:test'
import type { Scheduler } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { PlainReporter } from '../../src/output/plain.ts'
import { formatDateTime } from '../../src/text/times.ts'
import { Paper, node, planOf } from '../support/output.ts'

const time = /^\d\d:\d\d:\d\d /
/** The lines without their time, which is on every one. */
function saidOn(paper: Paper): string[] {
  for (const line of paper.lines) assert.match(line, time)
  return paper.lines.map((line) => line.replace(time, '').trimEnd())
}

test('each important event is one line, without escape sequences', () => {
  const paper = new Paper()
  using reporter = new PlainReporter(paper.output, planOf(['a', 'b:a', 'c', 'done']))
  reporter.observe(node('done', 'succeeded'))
  reporter.observe(node('a', 'ready'))
  reporter.observe({ type: 'state', at: 0, state: 'running' })
  reporter.observe({ type: 'start', at: 0, nodes: 4 })
  reporter.observe(node('a', 'running'))
  reporter.observe(
    node('a', 'retrying', {
      at: 100,
      attempt: 1,
      delay: 250,
      error: new Error('reset\n\u001b[31mby peer'),
    }),
  )
  reporter.observe(node('a', 'running', { at: 350, attempt: 1 }))
  reporter.observe({ type: 'log', at: 360, name: 'a', attempt: 1, text: 'one\n\u001b[2Jtwo' })
  reporter.observe({ type: 'state', at: 400, state: 'paused' })
  reporter.observe({ type: 'state', at: 500, state: 'running' })
  reporter.observe(node('a', 'failed', { at: 1_350, attempt: 1, error: new TypeError('no') }))
  reporter.observe(node('b', 'blocked', { blockedBy: 'a' }))
  reporter.observe(node('c', 'running', { at: 0 }))
  reporter.observe(node('c', 'succeeded', { at: 12_000 }))
  reporter.notice('cancelling (SIGTERM)')
  reporter.gap({ startedAt: 0, ms: 212, label: 'job "a"', stack: [], certain: true })
  assert.deepEqual(saidOn(paper), [
    'start     nightly.ts: 4 jobs, at most 2 at a time',
    'reused    1 job finished by an earlier run',
    'running   a (loop)',
    'retry     a in 250 ms: reset by peer',
    'running   a (loop), attempt 2 of 3',
    'log       a: one',
    'log       a: two',
    'paused    nothing new starts until SIGUSR2',
    'resumed',
    'failed    a in 1.4 s: TypeError: no',
    'blocked   b by a',
    'running   c (loop)',
    'done      c in 12 s',
    'note      cancelling (SIGTERM)',
    'loop      stood still for 212 ms: job "a"',
  ])
})

test('a job that waits for a signal or sleeps says so; one that runs its steps does not', () => {
  const paper = new Paper()
  using reporter = new PlainReporter(paper.output, planOf(['order']))
  let text = 'waits for the step "run:pay#0"'
  let until: number | undefined
  const explain: Scheduler['explain'] = (name) => ({
    name,
    state: 'suspended',
    why: 'suspended',
    text,
    ...(until !== undefined && { waitsFor: { until } }),
  })
  reporter.started({ id: 'r1', scheduler: { explain } as Scheduler })
  reporter.observe(node('order', 'running'))
  reporter.observe(node('order', 'suspended'))
  reporter.observe(node('order', 'running'))
  text = 'waits for the signal "approval"'
  reporter.observe(node('order', 'suspended'))
  reporter.observe(node('order', 'running'))
  text = 'sleeps until a time in UTC'
  until = Date.UTC(2026, 10, 20, 9)
  reporter.observe(node('order', 'suspended'))
  assert.deepEqual(saidOn(paper), [
    'run       r1 in sqlite:runs.db',
    'running   order (loop)',
    'suspended order waits for the signal "approval"',
    'continued order',
    `suspended order sleeps until ${formatDateTime(until)}`,
  ])
})

test('a failure that blocks very many names only the first of them', () => {
  const paper = new Paper()
  const names = Array.from({ length: 40 }, (_, i) => `n${i}:a`)
  using reporter = new PlainReporter(paper.output, planOf(['a', ...names]))
  reporter.observe(node('a', 'failed', { error: new Error('no') }))
  for (const spec of names)
    reporter.observe(node(spec.split(':')[0]!, 'blocked', { blockedBy: 'a' }))
  assert.equal(saidOn(paper).filter((line) => line.startsWith('blocked')).length, 10)
})

test('a silent run says now and then that it is alive, and stops with the run', async () => {
  const clock = new VirtualClock()
  const paper = new Paper()
  const durations = new Map([
    ['a', 90_000],
    ['b', 30_000],
  ])
  using reporter = new PlainReporter(paper.output, planOf(['a', 'b:a'], { durations }, clock))
  reporter.observe({ type: 'start', at: 0, nodes: 2 })
  reporter.observe(node('a', 'running'))
  await clock.advance(65_000)
  assert.deepEqual(saidOn(paper).slice(2), [
    'progress  0 of 2 ended; running: a 30 s, about 1 min 30 s left',
    'progress  0 of 2 ended; running: a 1 min 00 s, about 1 min 00 s left',
  ])
  reporter[Symbol.dispose]()
  assert.equal(clock.pending, 0)
})
