import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOf } from '../../src/text/line.ts'
import { WorkView } from '../../src/work/worker-view.ts'

function shown(view: WorkView, now: number, silence: number): string[] {
  return view.lines(now, { silence, places: 4 }).map((line) => textOf(line).trimEnd())
}

test('a worker shows its running jobs, its speed, its last contact, and why it gets nothing', () => {
  const view = new WorkView('https://host:4500')
  assert.deepEqual(shown(view, 0, 0), [
    'working     0 of 4 leases',
    'speed       0 leases finished',
    'server      https://host:4500, not reached yet',
  ])
  view.see({ kind: 'connected', worker: 'w', name: 'rack-1', protocol: 1 }, 0)
  view.see({ kind: 'started', lease: 'c-1.1', job: 'render' }, 1_000)
  view.see({ kind: 'reported', lease: 'c-1.1', done: 40, size: 100 }, 11_000)
  assert.deepEqual(shown(view, 11_000, 2_000), [
    'working     1 of 4 leases',
    '  render   c-1.1   40 of 100 units   10.0 s',
    'speed       4.0/s units, 0 leases finished',
    'server      https://host:4500, last seen 2 s ago',
  ])
  view.see({ kind: 'ended', lease: 'c-1.1', job: 'render', outcome: 'finished' }, 12_000)
  view.see({ kind: 'started', lease: 'c-1.2', job: 'render' }, 12_000)
  view.see({ kind: 'ended', lease: 'c-1.2', job: 'render', outcome: 'failed: no ink' }, 13_000)
  view.see({ kind: 'idle', reason: 'capability', message: 'job x needs capability gpu' }, 200_000)
  assert.deepEqual(shown(view, 200_000, 65_000), [
    'working     0 of 4 leases',
    'speed       1 lease finished, 1 failed',
    'server      https://host:4500, last seen 1 min 05 s ago',
    'idle        job x needs capability gpu',
  ])
})

test('trouble is shown while the server is silent, and for half a minute after it answers again', () => {
  const view = new WorkView('https://host:4500')
  view.see({ kind: 'connected', worker: 'w', name: 'rack-1', protocol: 1 }, 0)
  view.see({ kind: 'trouble', message: 'connection refused' }, 10_000)
  const last = (now: number, silence: number): string | undefined =>
    shown(view, now, silence).at(-1)
  const trouble = 'trouble     connection refused'
  assert.equal(last(100_000, 95_000), trouble)
  assert.equal(last(39_999, 1_000), trouble)
  assert.equal(last(40_000, 1_000), 'server      https://host:4500, last seen 1 s ago')
})
