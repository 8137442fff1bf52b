import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { Program, fixture, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

const cwd = mkdtempSync(path.join(os.tmpdir(), 'heddle-exit-'))
after(() => rmSync(cwd, { recursive: true, force: true }))
const memory = ['--journal', 'memory']

test('0 when every job succeeded, with plain lines without a terminal', async () => {
  const { code, lines, stdout, stderr } = await runProgram(
    ['run', fixture('mixed.ts'), ...memory],
    { cwd },
  )
  assert.equal(code, 0, stderr)
  assert.equal(stderr, '')
  assert.ok(!stdout.includes('\u001b'), 'no escape sequences')
  assert.equal(lines[0], 'printed by the module')
  for (const event of ['start', 'running', 'log', 'retry', 'done']) {
    assert.ok(
      lines.some((line) => new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${event} `).test(line)),
      event,
    )
  }
  assert.ok(lines.some((line) => line.endsWith('log       fine: said by a job')))
  assert.ok(lines.some((line) => /^✓ .*mixed\.ts: 3 succeeded in /.test(line)))
})

test('1 when a job failed, with its error in the summary', async () => {
  const { code, stdout } = await runProgram(['run', fixture('mixed.ts'), ...memory, '--', 'fail'], {
    cwd,
  })
  assert.equal(code, 1)
  assert.match(stdout, /^✗ .*1 failed, 2 blocked, 3 succeeded/m)
  assert.match(stdout, /✗ bad\n {6}12 problems\n {6}at .*mixed\.ts:\d+:\d+/)
  assert.match(stdout, /2 jobs blocked by "bad": behind, far behind/)
})

for (const [what, args, message] of [
  ['no file', [], /missing required argument 'file'/],
  ['a file that is missing', ['nowhere.ts'], /heddle: nowhere\.ts does not exist\./],
  ['an unknown option', ['x.ts', '--conurrency', '3'], /Did you mean --concurrency\?/],
  ['a wrong value', ['x.ts', '--concurrency', '0'], /whole number of at least 1/],
  ['another journal', ['x.ts', '--journal', 'redis://x'], /sqlite:FILE, .* or memory/],
  ['a module without a graph', [fixture('no-default.ts')], /gives no graph/],
  [
    'a thread job without its module',
    [fixture('no-module.ts')],
    /no-module\.ts:\d+:\d+\)[^]*Add `module: import\.meta\.url`/,
  ],
  [
    'a module that never ends to load',
    [fixture('never-loads.ts')],
    /^heddle: .*never-loads\.ts could not be loaded: its top level waits, and nothing is left on the event loop/,
  ],
  [
    'a module that ends the process',
    [fixture('exits-on-import.ts')],
    /exits-on-import\.ts could not be loaded: it ended the process \(process\.exit\) with code 0/,
  ],
  ['a cycle', [fixture('cycle.ts'), ...memory], /The graph has a cycle: .*→.*→/],
  [
    'a run that is not in the journal',
    [fixture('mixed.ts'), ...memory, '--resume', 'r1'],
    /There is no run "r1" in memory/,
  ],
] as const) {
  test(`2 for ${what}, and no job has run`, async () => {
    const { code, stdout, stderr } = await runProgram(['run', ...args], { cwd })
    assert.match(stderr, message)
    assert.equal(code, 2)
    assert.doesNotMatch(stdout, /running/)
  })
}

test('never 0 when a job ends the process, and the journal has the command that resumes it', async () => {
  for (const [args, code] of [
    [['exit', '0'], 1],
    [['exit', '7'], 7],
    [['throw'], 1],
  ] as const) {
    const ended = await runProgram(['run', fixture('ends-early.ts'), '--', ...args], { cwd })
    assert.equal(ended.code, code, ended.stderr)
    assert.match(ended.stderr, /Resume with: heddle run .*ends-early\.ts --resume .*-- /)
  }
  const { code, objects } = await runProgram(
    ['run', fixture('ends-early.ts'), '--json', '--', 'throw'],
    { cwd },
  )
  assert.equal(code, 1)
  assert.equal(objects.at(-1)!['ok'], false)
  assert.deepEqual(objects.at(-1)!['error'], { name: 'Error', message: 'nobody catches this' })
})

test('without a journal option the run is recorded in .heddle, which keeps itself out of git', async () => {
  await using stage = await Stage.open()
  const { folder } = stage
  const ended = await runProgram(['run', fixture('mixed.ts')], { cwd: folder })
  assert.equal(ended.code, 0)
  assert.match(ended.stdout, /run {11}\S+ in sqlite:\.heddle\/runs\.db/)
  assert.equal(readFileSync(path.join(folder, '.heddle/.gitignore'), 'utf8'), '*\n')
  const elsewhere = await runProgram(['run', fixture('mixed.ts'), '--journal', 'memory'], {
    cwd: path.join(folder, '.heddle'),
  })
  assert.equal(elsewhere.code, 0)
  assert.ok(!existsSync(path.join(folder, '.heddle/.heddle')))
})

test('a killed run is resumed: finished nodes are not run again', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  const args = ['run', fixture('staged.ts'), '--json', '--', 'a', 'b:a', 'c:b']
  using first = new Program(args, options)
  await stage.finish('a')
  await stage.started('b')
  first.process.kill('SIGKILL')
  assert.equal(await first.ended(), 'SIGKILL')
  await stage.left('b')
  const run = first.objects.find(({ type }) => type === 'run')!['run']

  using second = new Program(
    ['run', fixture('staged.ts'), '--json', '--resume', '--', 'a', 'b:a', 'c:b'],
    options,
  )
  await stage.finish('b')
  await stage.finish('c')
  assert.equal(await second.ended(), 0, second.stderr)
  const result = second.objects.at(-1)!
  assert.deepEqual(
    [result['run'], result['succeeded'], result['reused']],
    [run, ['a', 'b', 'c'], ['a']],
  )
  assert.deepEqual(stage.starts, ['a', 'b', 'b', 'c'])

  // The file may stand where the run could: it is not the id of one.
  const third = await runProgram(
    [
      'run',
      '--journal',
      'sqlite:.heddle/runs.db',
      '--resume',
      fixture('staged.ts'),
      '--',
      'a',
      'b:a',
      'c:b',
    ],
    options,
  )
  assert.equal(third.code, 0, third.stderr)
  assert.match(third.stdout, /had ended before: this is its recorded result/)
  assert.deepEqual(stage.starts, ['a', 'b', 'b', 'c'])
})

test('a run with failures is resumed, and a changed graph is named', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  using first = new Program(['run', fixture('staged.ts'), '--', 'a', 'b:a'], options)
  await stage.finish('a')
  await stage.finish('b', 'not today')
  assert.equal(await first.ended(), 1)
  const [, command] = /resume with {3}heddle (.*)\n/.exec(first.stdout) ?? []
  assert.ok(command !== undefined, first.stdout)

  const changed = await runProgram(
    ['run', fixture('staged.ts'), '--resume', '--', 'a', 'b:a', 'new'],
    options,
  )
  assert.equal(changed.code, 2)
  assert.match(changed.stderr, /"new" is new/)

  using second = new Program(command.split(' '), options)
  await stage.finish('b')
  assert.equal(await second.ended(), 0, second.stderr)
  assert.match(second.stdout, /2 succeeded \(1 reused\)/)

  using allowed = new Program(
    [
      'run',
      fixture('staged.ts'),
      '--allow-changes',
      '--resume',
      second.stdout.match(/run {11}(\S+)/)![1]!,
      '--',
      'a',
      'b:a',
      'new',
    ],
    options,
  )
  assert.equal(await allowed.ended(), 2, 'everything in it had succeeded')
})

test('C10: two runs in the same folder work side by side', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  using first = new Program(['run', fixture('staged.ts'), '--', 'a'], options)
  await stage.started('a')
  const second = await runProgram(['run', fixture('mixed.ts')], options)
  assert.equal(second.code, 0, second.stderr)
  const during = await runProgram(['runs', '--json'], options)
  const states = (text: string): unknown[] =>
    (JSON.parse(text) as { runs: { state: string }[] }).runs.map(({ state }) => state)
  assert.deepEqual(states(during.stdout), ['finished', 'running'])
  const { runs } = JSON.parse(during.stdout) as { runs: { id: string }[] }
  const taken = await runProgram(
    ['run', fixture('staged.ts'), '--resume', runs[1]!.id, '--', 'a'],
    options,
  )
  assert.equal(taken.code, 2)
  assert.match(taken.stderr, new RegExp(`Run ${runs[1]!.id} is held by pid ${first.process.pid}`))
  await stage.finish('a')
  assert.equal(await first.ended(), 0)
  const later = await runProgram(['runs', '--json'], options)
  assert.deepEqual(states(later.stdout), ['finished', 'finished'])
})

test('a reader that leaves does not end the run, and causes no message', async () => {
  await using stage = await Stage.open()
  using program = new Program(['run', fixture('staged.ts'), '--json', '--', 'a', 'b:a'], {
    cwd: stage.folder,
    env: stage.env,
  })
  await stage.started('a')
  program.process.stdout!.destroy()
  await stage.finish('a')
  await stage.finish('b')
  assert.equal(await program.ended(), 0)
  assert.doesNotMatch(program.stderr, /EPIPE|at /)
  assert.match(program.stderr, /2 succeeded/)
})

test('1 when nothing is left that could end the run, with the command that resumes it', async () => {
  const { code, objects, stderr } = await runProgram(
    ['run', fixture('never-ends.ts'), '--json', '--journal', 'sqlite:stuck.db'],
    { cwd },
  )
  assert.equal(code, 1)
  assert.equal(objects.at(-1)!['ok'], false)
  assert.match(stderr, /deadlock: every job is waiting and nothing is left on the event loop/)
  assert.match(stderr, /Resume with: heddle run .* --resume \d{8}-/)
})
