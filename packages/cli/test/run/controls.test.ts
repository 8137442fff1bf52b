import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { CancelOptions, SchedulerStats } from '@heddle/core'
import type { KeyInput } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import type { Reporter } from '../../src/output/reporter.ts'
import { Controls } from '../../src/run/controls.ts'

function open(
  attached = true,
  stats: Partial<SchedulerStats> = {},
): { controls: Controls; happened: string[] } {
  const happened: string[] = []
  const controls = new Controls({
    clock: new VirtualClock(),
    exit: (code) => happened.push(`exit ${code}`),
    leave: () => happened.push('leave') > 0,
    onSuspend: () => happened.push('about to stop'),
    onContinue: () => happened.push('continued'),
  })
  const scheduler = {
    state: 'running' as const,
    stats: () => ({ running: 2, ...stats }) as SchedulerStats,
    pause: () => happened.push('pause'),
    resume: () => happened.push('resume'),
    cancel: ({ by, source, abort }: CancelOptions = {}) =>
      happened.push(`${abort === true ? 'abort' : 'cancel'} ${source} ${by}`),
  }
  const reporter = {
    notice: (text: string) => happened.push(`notice ${text.split(' ')[0]}`),
    press: (key: string) => happened.push(`press ${key}`) > 0,
    suspend: () => happened.push('hide'),
    resume: () => happened.push('redraw'),
  } as unknown as Reporter
  if (attached) controls.attach(scheduler, reporter)
  return { controls, happened }
}

test('C1: cancel, abort, and a third Ctrl+C ends the process; q never does', () => {
  const { controls, happened } = open()
  using _ = controls
  for (const key of ['q', 'ctrl-c', 'q', 'ctrl-c']) controls.press(key)
  assert.deepEqual(happened, [
    'cancel user key q',
    'notice cancelling',
    'abort user Ctrl+C',
    'notice aborting',
    'exit 130',
  ])
})

test('C1: a signal cancels in the name of its sender', () => {
  const { controls, happened } = open()
  using _ = controls
  process.emit('SIGTERM')
  process.emit('SIGHUP')
  process.emit('SIGTERM')
  process.emit('SIGINT')
  assert.deepEqual(happened, [
    'cancel shutdown SIGTERM',
    'notice cancelling',
    'abort shutdown SIGHUP',
    'notice aborting',
    'exit 130',
  ])
})

test('C2: before the run there is nothing to finish', () => {
  const { controls, happened } = open(false)
  using _ = controls
  process.emit('SIGINT')
  process.emit('SIGTERM')
  assert.deepEqual(happened, ['exit 130', 'exit 143'])
})

test('C3: USR1 and p pause, r resumes; a pause before the start is kept for it', () => {
  const { controls, happened } = open()
  using _ = controls
  process.emit('SIGUSR1')
  controls.press('r')
  controls.press('p')
  assert.deepEqual(happened, ['pause', 'resume', 'pause'])
  const early = open(false)
  using __ = early.controls
  process.emit('SIGUSR1')
  early.controls.attach({ pause: () => early.happened.push('pause') } as never, {} as Reporter)
  assert.deepEqual(early.happened, ['pause'])
})

test('other keys go to the view; SIGCONT redraws; SIGQUIT does not wait', () => {
  const { controls, happened } = open()
  using _ = controls
  controls.press('f')
  process.emit('SIGCONT')
  process.emit('SIGQUIT')
  assert.deepEqual(happened, ['press f', 'redraw', 'exit 131'])
})

/** Like a terminal's input, as far as it is used. */
function fakeInput(): PassThrough & { isRaw: boolean } {
  return Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    ref: () => {},
    unref: () => {},
    setRawMode(raw: boolean) {
      this.isRaw = raw
    },
  })
}

test('C4: Ctrl+Z: the time in which the process is stopped is reported, and the terminal is restored for it', (t) => {
  const { controls, happened } = open()
  using _ = controls
  const input = fakeInput()
  const kill = t.mock.method(process, 'kill', (pid: number, signal: string) =>
    happened.push(`${signal} to ${pid}, ${input.isRaw ? 'raw' : 'cooked'}`),
  )
  controls.listen(input as unknown as KeyInput)
  controls.press('ctrl-z')
  kill.mock.restore()
  assert.deepEqual(happened.splice(0), ['hide', 'about to stop', 'SIGTSTP to 0, cooked'])
  process.emit('SIGCONT')
  assert.equal(input.isRaw, true)
  assert.deepEqual(happened, ['redraw', 'redraw', 'continued'])
})

test('after dispose only the two signals that must stay harmless have listeners', () => {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGCONT', 'SIGQUIT'] as const
  const counts = (): number[] => signals.map((signal) => process.listenerCount(signal))
  const before = counts()
  const { controls, happened } = open()
  const input = fakeInput()
  controls.listen(input as unknown as KeyInput)
  assert.equal(input.isRaw, true)
  controls.unlisten()
  assert.equal(input.isRaw, false)
  controls[Symbol.dispose]()
  assert.deepEqual(counts(), before)
  process.emit('SIGUSR1')
  assert.deepEqual(happened, [])
})

test('C5: SIGTERM and SIGHUP leave a run in which everything sleeps; Ctrl+C cancels it', () => {
  const asleep = { running: 0, ready: 0, retrying: 0, suspended: 2 }
  const { controls, happened } = open(true, asleep)
  using _ = controls
  process.emit('SIGTERM')
  process.emit('SIGHUP')
  controls.press('ctrl-c')
  process.emit('SIGTERM')
  assert.deepEqual(happened, [
    'leave',
    'leave',
    'cancel user Ctrl+C',
    'notice cancelling',
    'abort shutdown SIGTERM',
    'notice aborting',
  ])
})

test('C5: ready and retrying nodes are cancelled by SIGTERM; Ctrl+\\\\ leaves any run', () => {
  for (const more of [{ ready: 1 }, { retrying: 1 }, { running: 1 }]) {
    const { controls, happened } = open(true, {
      running: 0,
      ready: 0,
      retrying: 0,
      suspended: 2,
      ...more,
    })
    using _ = controls
    process.emit('SIGTERM')
    controls.press('ctrl-|')
    assert.deepEqual(happened, ['cancel shutdown SIGTERM', 'notice cancelling', 'exit 131'])
  }
})
