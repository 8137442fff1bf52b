import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import test from 'node:test'
import type { Run } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { LiveReporter } from '../../src/output/live.ts'
import { unicodeSymbols } from '../../src/text/symbols.ts'
import { Emulator } from '../support/emulator.ts'
import { node, planOf } from '../support/output.ts'

/** A terminal whose screen can be read. */
class Fake extends EventEmitter {
  readonly emulator: Emulator
  onWrite: (() => void) | undefined
  constructor(columns = 60, rows = 20) {
    super()
    this.emulator = new Emulator(columns, rows)
  }
  get columns(): number {
    return this.emulator.columns
  }
  get rows(): number {
    return this.emulator.rows
  }
  write(text: string, ...more: unknown[]): boolean {
    this.onWrite?.()
    this.emulator.write(text)
    const callback = more.at(-1)
    if (typeof callback === 'function') (callback as () => void)()
    return true
  }
}

function open(specs: string[] = ['a', 'b:a']): {
  clock: VirtualClock
  terminal: Fake
  errors: Fake
  reporter: LiveReporter
  shown: () => string
} {
  const clock = new VirtualClock()
  const terminal = new Fake()
  const errors = new Fake()
  const reporter = new LiveReporter(planOf(specs, {}, clock), {
    terminal,
    errors,
    keys: true,
    color: true,
    symbols: unicodeSymbols,
    onFailure: (error) => assert.fail(String(error)),
  })
  return { clock, terminal, errors, reporter, shown: () => terminal.emulator.everything.join('\n') }
}

test('at most twelve frames a second, and none when nothing has changed', async () => {
  const { clock, terminal, reporter } = open()
  reporter.observe({ type: 'state', at: 0, state: 'running' })
  await clock.advance(0)
  const before = terminal.emulator.writes
  for (let i = 0; i < 100; i++) {
    reporter.observe({ type: 'log', at: clock.now(), name: 'a', attempt: 0, text: `line ${i}` })
    await clock.advance(10)
  }
  const drawn = terminal.emulator.writes - before
  assert.ok(drawn <= 13, `${drawn} writes in one second`)
  assert.ok(drawn >= 10, `${drawn} writes in one second`)
  await clock.advance(100)
  const quiet = terminal.emulator.writes
  await clock.advance(10_000)
  assert.equal(terminal.emulator.writes, quiet)
  reporter[Symbol.dispose]()
})

test('a terminal that is slow gets fewer frames: at most a tenth of the time goes to drawing', async () => {
  const { clock, terminal, reporter } = open()
  // The clock runs while the terminal is written to.
  let waited = 0
  const now = clock.now.bind(clock)
  clock.now = () => now() + waited
  terminal.onWrite = () => (waited += 50)
  for (let i = 0; i < 300; i++) {
    reporter.observe({ type: 'log', at: 0, name: 'a', attempt: 0, text: `line ${i}` })
    await clock.advance(10)
  }
  assert.ok(waited >= 100 && waited <= 500, `${waited} ms of ${3_000 + waited}`)
  reporter[Symbol.dispose]()
})

test('a frame in which the process was stopped for a minute does not stop the view for ten', async () => {
  const { clock, terminal, reporter, shown } = open()
  let waited = 0
  const now = clock.now.bind(clock)
  clock.now = () => now() + waited
  terminal.onWrite = () => {
    waited += 60_000
    terminal.onWrite = undefined
  }
  reporter.observe({ type: 'log', at: 0, name: 'a', attempt: 0, text: 'before' })
  await clock.advance(100)
  reporter.observe({ type: 'log', at: 0, name: 'a', attempt: 0, text: 'after' })
  await clock.advance(1_000)
  assert.match(shown(), /a: after/)
  reporter[Symbol.dispose]()
})

test('ages and countdowns advance by themselves', async () => {
  const { clock, reporter, shown } = open()
  reporter.observe({ type: 'start', at: 0, nodes: 2 })
  reporter.observe(node('a', 'running'))
  await clock.advance(3_000)
  assert.match(shown(), /● a {2}loop +3\.0 s/)
  reporter.observe(
    node('a', 'retrying', { at: 3_000, attempt: 1, delay: 5_000, error: new Error('no') }),
  )
  await clock.advance(2_000)
  assert.match(shown(), /↻ a {2}attempt 2 of 3 in 3 s · no/)
  reporter[Symbol.dispose]()
})

test('log lines of jobs and output of the program stay above the region, sanitized', async () => {
  const { clock, terminal, errors, reporter } = open()
  reporter.observe({
    type: 'log',
    at: 0,
    name: 'a',
    attempt: 0,
    text: 'hello\u001b[2J\u001b[H\nsecond',
  })
  terminal.write('printed\u001b[5Aby console.log\n')
  errors.write('to the errors\n')
  await clock.advance(100)
  assert.deepEqual(terminal.emulator.everything.slice(0, 4), [
    'a: hello',
    'a: second',
    'printedby console.log',
    'to the errors',
  ])
  assert.match(terminal.emulator.everything[4]!, /^nightly\.ts/)
  terminal.write('without an end')
  reporter[Symbol.dispose]()
  assert.equal(terminal.emulator.everything.filter((line) => line !== '').at(-1), 'without an end')
  terminal.write('afterwards\r\n')
  assert.ok(terminal.emulator.everything.includes('afterwards'))
  assert.equal(errors.emulator.everything.join(''), '')
})

test('a flood of lines is printed, not kept and not dropped', async () => {
  const { clock, terminal, reporter } = open()
  for (let i = 0; i < 5_000; i++) {
    reporter.observe({ type: 'log', at: 0, name: 'a', attempt: 0, text: `line ${i}` })
  }
  await clock.advance(100)
  const lines = terminal.emulator.everything.filter((line) => line.startsWith('a: line'))
  assert.equal(lines.length, 5_000)
  reporter[Symbol.dispose]()
})

test('reasons for waiting are requested for the next nodes only, not more often than needed', async () => {
  const { clock, reporter, shown } = open(['a', 'b:a', 'c:b'])
  let asked = 0
  const scheduler = {
    explain: (name: string) => (
      asked++,
      { why: 'dependencies', on: [], text: `waits, says ${name}` }
    ),
  }
  reporter.started({ scheduler } as unknown as Run)
  await clock.advance(80)
  assert.match(shown(), /○ a {2}waits, says a\n○ b {2}waits, says b\n○ c {2}waits, says c/)
  assert.equal(asked, 3)
  for (let i = 0; i < 20; i++) {
    reporter.notice(`n${i}`)
    await clock.advance(10)
  }
  assert.equal(asked, 3)
  // A node that has started in between does not wait, also before the next question.
  reporter.observe(node('a', 'running'))
  await clock.advance(100)
  assert.doesNotMatch(shown(), /waits, says a/)
  reporter[Symbol.dispose]()
})

test('a group of waiting nodes stays on the screen when the one that was asked about starts', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `page ${i}`)
  const { clock, reporter, shown } = open(names)
  const scheduler = { explain: (name: string) => ({ why: 'other', text: `${name} waits` }) }
  reporter.started({ scheduler } as unknown as Run)
  reporter.observe({ type: 'start', at: 0, nodes: 12 })
  for (const name of names) reporter.observe(node(name, 'ready'))
  await clock.advance(100)
  assert.match(shown(), /◌ nothing ×12 {2}page 0 waits/)
  reporter.observe(node('page 0', 'running', { at: 100 }))
  // Before the next answer of the scheduler.
  await clock.advance(100)
  assert.match(shown(), /◌ nothing ×11 {2}page 0 waits/)
  assert.match(shown(), /● page 0/)
  reporter[Symbol.dispose]()
})

test('M5: a node that waits for a map calls it running while its elements run', async () => {
  const { clock, reporter, shown } = open(['m', 'b:m'])
  const scheduler = {
    explain: () => ({
      why: 'dependencies',
      on: [{ name: 'm', state: 'suspended' }],
      total: 1,
      text: 'waits for "m" (suspended)',
    }),
  }
  reporter.started({ scheduler } as unknown as Run)
  reporter.observe(node('m', 'running'))
  reporter.observe(node('m', 'suspended'))
  await clock.advance(500)
  assert.match(shown(), /○ b {2}waits for "m" \(suspended\)/)
  const part = { type: 'part', at: 500, name: 'm', path: '[0]', attempt: 0 } as const
  reporter.observe({ ...part, state: 'running' })
  await clock.advance(500)
  assert.match(shown(), /○ b {2}waits for "m" \(running 1\.0 s\)/)
  reporter[Symbol.dispose]()
})

test('holders of the concurrency are not listed: they are the running nodes', async () => {
  const { clock, reporter, shown } = open(['a'])
  const scheduler = {
    explain: () => ({
      why: 'permits',
      resource: 'concurrency',
      capacity: 5,
      holders: [],
      text: 'x',
    }),
  }
  reporter.started({ scheduler } as unknown as Run)
  await clock.advance(80)
  assert.match(shown(), /ready; all 5 permits are in use/)
  reporter[Symbol.dispose]()
})

test('keys change the view at once, unknown keys are ignored', async () => {
  const { clock, reporter, shown } = open()
  await clock.advance(0)
  assert.equal(reporter.press('f'), true)
  assert.equal(reporter.press('x'), false)
  await clock.advance(100)
  assert.match(shown(), /filter: active/)
  reporter[Symbol.dispose]()
})

test('the longest gap of the loop stays on the screen', async () => {
  const { clock, reporter, shown } = open()
  const gap = { startedAt: 0, label: 'job "slow"', stack: [], certain: true }
  reporter.gap({ ...gap, ms: 300 })
  reporter.gap({ ...gap, ms: 90, label: 'job "fast"' })
  await clock.advance(80)
  assert.match(shown(), /stood still for 300 ms: job "slow"/)
  reporter[Symbol.dispose]()
})

test('after a suspend the terminal is restored; after a resume the region is drawn below the existing text', async () => {
  const { clock, terminal, reporter } = open()
  reporter.observe({ type: 'log', at: 0, name: 'a', attempt: 0, text: 'kept' })
  await clock.advance(0)
  reporter.suspend()
  assert.equal(terminal.emulator.cursorVisible, true)
  assert.deepEqual(
    terminal.emulator.everything.filter((line) => line !== ''),
    ['a: kept'],
  )
  terminal.emulator.write('[1]+ Stopped\r\n')
  await clock.advance(5_000)
  reporter.resume()
  await clock.advance(100)
  const lines = terminal.emulator.everything
  assert.deepEqual(lines.slice(0, 2), ['a: kept', '[1]+ Stopped'])
  assert.match(lines[2]!, /^nightly\.ts/)
  reporter[Symbol.dispose]()
})

test('a resize redraws; disposing leaves no timer, no listener and no capture behind', async () => {
  const { clock, terminal, reporter } = open()
  await clock.advance(0)
  terminal.emulator.resize(30, 10)
  terminal.emit('resize')
  await clock.advance(100)
  assert.ok(terminal.emulator.screen.every((line) => line.length <= 30))
  reporter[Symbol.dispose]()
  reporter[Symbol.dispose]()
  reporter.observe({ type: 'state', at: 0, state: 'running' })
  reporter.resume()
  assert.equal(clock.pending, 0)
  assert.equal(terminal.listenerCount('resize'), 0)
  assert.ok(!Object.hasOwn(terminal, 'write'))
  assert.equal(terminal.emulator.cursorVisible, true)
})

test('a terminal that does not know its size gets the usual one', async () => {
  const clock = new VirtualClock()
  const terminal = new Fake(80, 24)
  const unsized = new Proxy(terminal, {
    get: (target, key) =>
      key === 'columns' || key === 'rows' ? 0 : Reflect.get(target, key, target),
  })
  using _ = new LiveReporter(planOf(['a'], {}, clock), {
    terminal: unsized,
    keys: false,
    color: true,
    symbols: unicodeSymbols,
    onFailure: (error) => assert.fail(String(error)),
  })
  await clock.advance(1_000)
  assert.match(terminal.emulator.screen[0]!, /^nightly\.ts/)
  assert.doesNotMatch(terminal.emulator.screen.join(), /p pause|q cancel/, 'no keys are offered')
})

test('P12 a view that fails restores the terminal and lets the run continue', async () => {
  const clock = new VirtualClock()
  const terminal = new Fake()
  const failures: unknown[] = []
  const reporter = new LiveReporter(planOf(['a'], {}, clock), {
    terminal,
    keys: false,
    color: true,
    symbols: new Proxy(unicodeSymbols, {
      get: () => {
        throw new Error('no symbols')
      },
    }),
    onFailure: (error) => failures.push(error),
  })
  reporter.observe({ type: 'state', at: 0, state: 'running' })
  await clock.advance(5_000)
  reporter.observe(node('a', 'running'))
  await clock.advance(5_000)
  assert.deepEqual(failures.map(String), ['Error: no symbols'])
  assert.equal(terminal.emulator.cursorVisible, true)
})

test('a wait without a known end is shown, and no remaining time is given', async () => {
  const clock = new VirtualClock()
  const terminal = new Fake(100, 20)
  const durations = new Map([['order', 1_000]])
  const reporter = new LiveReporter(planOf(['order', 'nap'], { durations }, clock), {
    terminal,
    keys: true,
    color: false,
    symbols: unicodeSymbols,
    onFailure: (error) => assert.fail(String(error)),
  })
  const waits: Record<string, object> = {
    order: { text: 'waits for the signal "approval"', waitsFor: { signal: 'approval' } },
    nap: { text: 'sleeps', waitsFor: { until: clock.wallTime() + 60_000 } },
  }
  const explain = (name: string): object => ({
    name,
    state: 'suspended',
    why: 'suspended',
    ...waits[name],
  })
  reporter.started({ scheduler: { explain } } as unknown as Run)
  reporter.observe({ type: 'state', at: 0, state: 'running' })
  reporter.observe({ type: 'start', at: 0, nodes: 2 })
  for (const name of ['order', 'nap']) {
    reporter.observe(node(name, 'running'))
    reporter.observe(node(name, 'suspended'))
  }
  const top = (): string =>
    terminal.emulator.everything.findLast((line) => /nightly\.ts/.test(line))!
  await clock.advance(5_000)
  assert.match(top(), /5 s, end not known$/)
  assert.match(terminal.emulator.everything.join('\n'), /order .+ waits for the signal "approval"/)
  // It continues: from here on only the nap is awaited.
  reporter.observe(node('order', 'running'))
  reporter.observe(node('order', 'succeeded'))
  await clock.advance(1_000)
  assert.match(top(), /6 s, about 54 s left$/)
  reporter[Symbol.dispose]()
})
