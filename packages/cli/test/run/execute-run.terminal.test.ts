import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { openJournal } from '@heddle/core/lowlevel'
import { until } from '../../../core/test/kernel/until.ts'
import { cleanEnv, fixture, launcher } from '../support/program.ts'
import { Pty, whyNoTerminal, type PtyOptions } from '../support/pty.ts'
import { Stage } from '../support/stage.ts'

const skip = whyNoTerminal()
const node = `'${process.execPath}' --conditions=heddle-source '${launcher}'`
const staged = `${node} run '${fixture('staged.ts')}'`

/** Runs a command between two readings of the terminal's settings. */
function framed(command: string): string {
  return `before=$(stty -g); ${command}; echo "code $?"; [ "$(stty -g)" = "$before" ] && echo same settings || echo OTHER SETTINGS`
}

function open(stage: Stage, script: string, more: Partial<PtyOptions> = {}): Pty {
  return new Pty(script, { cwd: stage.folder, env: cleanEnv(stage.env), ...more })
}

/** The process has ended with this code, the terminal is as it was. */
async function leaves(terminal: Pty, code: number): Promise<void> {
  await terminal.wrote(/code \d+\n/)
  await terminal.closed()
  assert.match(terminal.everything, new RegExp(`code ${code}\n`))
  assert.match(terminal.everything, /\nsame settings/)
  assert.equal(terminal.emulator.cursorVisible, true)
  assert.equal(terminal.emulator.wrap, true)
  assert.doesNotMatch(terminal.raw, /\u001b\[\?1049h/, 'the alternate screen is not used')
}

test(
  'S55 keys p r f l a w ? q: each changes the view; q ends the run after the running jobs, code 130',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using terminal = open(stage, framed(`${staged} --concurrency 1 -- first second third:first`))
    await stage.started('first')
    await terminal.see(
      /running[^]*● first {3}loop[^]*◌ second {2}ready; one job runs at a time[^]*○ third {3}waits for "first" \(running/,
    )
    terminal.type('p')
    await terminal.see(/PAUSED[^]*r resume/)
    terminal.type('r')
    await terminal.see(/running {2}[^]*p pause/)
    terminal.type('f')
    await terminal.see(/filter: active/)
    assert.doesNotMatch(terminal.screen, /second/)
    terminal.type('f')
    await terminal.see(/nothing has failed[^]*filter: failed/)
    terminal.type('f')
    await terminal.see(/filter: all/)
    await stage.say('first', 'hello')
    await terminal.see(/^first: hello$/m)
    terminal.type('l')
    await terminal.see(/first: hello[^]*first: hello[^]*l back to window/)
    terminal.type('a')
    await terminal.see(/○ third {3}waiting\n[^]*w window/)
    terminal.type('l')
    await terminal.see(/l back to all/)
    terminal.type('l')
    await terminal.see(/○ third {3}waiting/)
    terminal.type('w')
    await terminal.see(/○ third {3}waits for/)
    terminal.type('?')
    await terminal.see(/Ctrl\+Z {2}stop the process/)
    terminal.type('?')
    await terminal.see(/● first/)
    terminal.type('q')
    await terminal.see(/CANCELLING[^]*cancelling \(key q\): 1 job may finish[^]*q abort/)
    await stage.finish('first')
    await leaves(terminal, 130)
    assert.match(terminal.unwrapped, /cancelled: 2 skipped, 1 succeeded/)
    assert.deepEqual(stage.starts, ['first'])
    // The frames are gone; log lines and the summary can be scrolled to and copied.
    assert.match(terminal.everything, /^first: hello$/m)
    assert.doesNotMatch(terminal.everything, /[━─]{5}|p pause/)
  },
)

test('Ctrl+C cancels, a second one aborts, code 130', { skip }, async () => {
  await using stage = await Stage.open()
  using terminal = open(stage, framed(`${staged} -- a`))
  await stage.started('a')
  await terminal.see(/● a/)
  terminal.type('\u0003')
  await terminal.see(/cancelling \(Ctrl\+C\)/)
  terminal.type('\u0003')
  await leaves(terminal, 130)
  assert.match(terminal.unwrapped, /cancelled: 1 stopped/)
})

test(
  'Ctrl+C a third time ends the process at once, with the terminal restored',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using terminal = open(stage, framed(`${node} run '${fixture('deaf.ts')}'`))
    await terminal.see(/● deaf/)
    terminal.type('\u0003')
    await terminal.see(/cancelling/)
    terminal.type('\u0003')
    await terminal.see(/aborting/)
    terminal.type('\u0003')
    await leaves(terminal, 130)
  },
)

test(
  'Ctrl+Z restores the terminal; after fg the region is drawn again and keys work',
  { skip },
  async () => {
    await using stage = await Stage.open()
    const look = `stty -a | grep -q -- -icanon && echo raw || echo cooked`
    using terminal = open(
      stage,
      `set -m; before=$(stty -g); ${staged} -- a; ${look}; read; fg >/dev/null; echo "code $?"; [ "$(stty -g)" = "$before" ] && echo same settings`,
    )
    await stage.started('a')
    await terminal.see(/● a/)
    terminal.type('\u001a')
    await terminal.see(/^cooked$/m)
    assert.equal(terminal.emulator.cursorVisible, true)
    assert.doesNotMatch(terminal.screen, /● a/, 'no stale frame')
    terminal.type('\n')
    await terminal.see(/● a/)
    terminal.type('f')
    await terminal.see(/filter: active/)
    await stage.finish('a')
    await leaves(terminal, 0)
  },
)

test(
  'a process that is stopped from outside draws below the output printed in between',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using terminal = open(
      stage,
      `set -m; ${staged} -- a; echo stopped; fg >/dev/null; echo "code $?"; echo same settings`,
    )
    await stage.started('a')
    await terminal.see(/● a/)
    const pid = stage.pidOf('a')
    process.kill(pid, 'SIGSTOP')
    await terminal.see(/stopped[^]*● a/)
    await stage.finish('a')
    await leaves(terminal, 0)
  },
)

test('a resize is followed: never wider, never higher than the terminal', { skip }, async () => {
  await using stage = await Stage.open()
  const names = Array.from({ length: 30 }, (_, i) => `a job with a long name, number ${i}`)
  using terminal = open(
    stage,
    framed(`${staged} --concurrency 40 -- ${names.map((name) => `'${name}'`).join(' ')}`),
    { columns: 100, rows: 40 },
  )
  // In the window they are one line; the filter shows each.
  await terminal.see(/● \w+ ×30 /)
  terminal.type('f')
  await terminal.see(/number 20 /)
  assert.ok(terminal.emulator.screen.filter((line) => line !== '').length <= 30, 'at most 30 rows')
  // A frame that is drawn before the program is notified of a new size may leave parts of itself behind, here as in
  // any terminal. The next one is whole, and known by the length of its second line.
  terminal.resize(40, 12)
  await terminal.see(/^─{28} {2}0\/30[^]*and \d+ more active/m)
  terminal.resize(120, 50)
  await terminal.see(/^─{108} {2}0\/30[^]*number 20 [^]*p pause/m)
  for (const name of names) await stage.finish(name)
  await leaves(terminal, 0)
})

test('output of jobs cannot break the terminal', { skip }, async () => {
  await using stage = await Stage.open()
  using terminal = open(stage, framed(`${staged} -- a`))
  await stage.say('a', 'one\u001b[2J\u001b[H\u001b]0;title\u0007two\u001b[?1049h\nthree')
  await terminal.see(/^a: onetwo$/m)
  await terminal.see(/^a: three$/m)
  await stage.finish('a')
  await leaves(terminal, 0)
  assert.doesNotMatch(terminal.raw, /\u001b\]|\u001b\[2J|\u001b\[H/)
})

for (const [ending, code] of [
  ['exit 5', 5],
  ['exit 0', 1],
  ['throw', 1],
] as const) {
  test(`the terminal is restored after a job's ${ending}, code ${code}`, { skip }, async () => {
    await using stage = await Stage.open()
    using terminal = open(stage, framed(`${node} run '${fixture('ends-early.ts')}' -- ${ending}`))
    await leaves(terminal, code)
    assert.match(terminal.unwrapped, /Resume with: heddle run/)
  })
}

for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
  test(`the terminal is restored after ${signal}, twice`, { skip }, async () => {
    await using stage = await Stage.open()
    using terminal = open(stage, framed(`${staged} -- a`))
    await stage.started('a')
    await terminal.see(/● a/)
    process.kill(stage.pidOf('a'), signal)
    await terminal.see(new RegExp(`cancelling \\(${signal}\\)`))
    process.kill(stage.pidOf('a'), signal)
    await leaves(terminal, 130)
  })
}

test('SIGQUIT ends the process at once, with the terminal restored', { skip }, async () => {
  await using stage = await Stage.open()
  using terminal = open(stage, framed(`${staged} -- a`))
  await stage.started('a')
  await terminal.see(/● a/)
  process.kill(stage.pidOf('a'), 'SIGQUIT')
  await leaves(terminal, 131)
})

for (const [name, env] of [
  ['CI', { CI: 'true' }],
  ['TERM=dumb', { TERM: 'dumb' }],
] as const) {
  test(
    `${name}: plain lines also in a terminal, without escape sequences and keys`,
    { skip },
    async () => {
      await using stage = await Stage.open()
      using terminal = open(stage, framed(`${staged} -- a`), {
        env: cleanEnv({ ...stage.env, ...env }),
      })
      await stage.finish('a')
      await leaves(terminal, 0)
      assert.match(terminal.everything, /^\d\d:\d\d:\d\d done {6}a in /m)
      assert.ok(!terminal.raw.includes('\u001b'))
    },
  )
}

for (const [name, env, flags] of [
  ['NO_COLOR', { NO_COLOR: '1' }, ''],
  ['--no-color', {}, '--no-color'],
] as const) {
  test(`${name}: the live view and its keys, without colours`, { skip }, async () => {
    await using stage = await Stage.open()
    using terminal = open(stage, framed(`${staged} ${flags} -- a`), {
      env: cleanEnv({ ...stage.env, ...env }),
    })
    await stage.started('a')
    await terminal.see(/● a/)
    terminal.type('p')
    await terminal.see(/PAUSED/)
    terminal.type('r')
    await stage.finish('a')
    await leaves(terminal, 0)
    // oxlint-disable-next-line no-control-regex -- colours are what this test is about
    assert.doesNotMatch(terminal.raw, /\u001b\[[\d;:]*m/)
  })
}

/** Waits until the signal has arrived in the run. There is no terminal left that could say so. */
async function draining(address: string): Promise<void> {
  await using journal = await openJournal(address)
  // Another process writes the journal: there is no event to wait for.
  await until(async () => (await journal.list({ limit: 1 })).runs[0]!.state === 'draining')
}

test(
  'closing the terminal does not end the run before the running jobs have finished',
  { skip },
  async () => {
    await using stage = await Stage.open()
    const terminal = open(stage, `${staged} --journal sqlite:runs.db -- a b:a`)
    await stage.started('a')
    await terminal.see(/● a/)
    const pid = stage.pidOf('a')
    // The relay holds the other side of the terminal: with it the terminal is gone, and SIGHUP is sent.
    terminal[Symbol.dispose]()
    await terminal.closed()
    await draining(`sqlite:${path.join(stage.folder, 'runs.db')}`)
    await stage.finish('a')
    await stage.gone(pid)
    assert.deepEqual(stage.starts, ['a'])
  },
)
