import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Program, fixture, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

const skip = process.platform === 'win32' ? 'Windows has no signals of this kind' : false

function start(stage: Stage, ...args: string[]): Program {
  return new Program(['run', fixture('staged.ts'), '--concurrency', '1', ...args], {
    cwd: stage.folder,
    env: stage.env,
  })
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(
    `S30 ${signal}: running jobs finish, the rest is skipped, exit code 130`,
    { skip },
    async () => {
      await using stage = await Stage.open()
      using program = start(stage, '--json', '--', 'a', 'b', 'c:a')
      await stage.started('a')
      program.process.kill(signal)
      await program.printed(new RegExp(`"notice".*cancelling \\(${signal}\\): 1 job may finish`))
      await stage.finish('a')
      assert.equal(await program.ended(), 130)
      const result = program.objects.at(-1)!
      assert.deepEqual([result['ok'], result['state']], [false, 'cancelled'])
      assert.deepEqual(
        [result['succeeded'], result['skipped'], result['cancelled']],
        [['a'], ['b', 'c'], []],
      )
      assert.deepEqual(stage.starts, ['a'])
    },
  )
}

test(
  'S31 a second signal aborts running jobs; the summary says how to resume',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using program = start(stage, '--', 'a', 'b')
    await stage.started('a')
    program.process.kill('SIGTERM')
    await program.printed(/cancelling \(SIGTERM\)/)
    program.process.kill('SIGINT')
    assert.equal(await program.ended(), 130)
    assert.match(program.stdout, /aborting 1 job \(SIGINT\)/)
    assert.match(program.stdout, /cancelled: 1 stopped, 1 skipped/)
    assert.match(program.stdout, /resume with {3}heddle run .* --resume \S+ -- a b/)
  },
)

test(
  'a third SIGINT ends the process at once, also when a job does not react',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using program = new Program(['run', fixture('deaf.ts'), '--journal', 'memory'], {
      cwd: stage.folder,
    })
    await program.printed(/running {3}deaf/)
    program.process.kill('SIGINT')
    await program.printed(/cancelling/)
    program.process.kill('SIGINT')
    await program.printed(/aborting/)
    program.process.kill('SIGINT')
    assert.equal(await program.ended(), 130)
    assert.doesNotMatch(program.stdout, /cancelled: |\d stopped/)
    assert.match(program.stderr, /ended at once, as requested, without waiting for running jobs/)
  },
)

test('S54 USR1 pauses and USR2 resumes', { skip }, async () => {
  await using stage = await Stage.open()
  using program = start(stage, '--', 'a', 'b', 'c')
  await stage.started('a')
  program.process.kill('SIGUSR1')
  await program.printed(/ paused /)
  await stage.finish('a')
  await program.printed(/ done {6}a /)
  assert.deepEqual(stage.starts, ['a'])
  program.process.kill('SIGUSR2')
  await stage.started('b')
  await stage.finish('b')
  await stage.finish('c')
  assert.equal(await program.ended(), 0)
  assert.match(program.stdout, / resumed/)
})

test(
  'S54, P19: at the end and afterwards no signal kills the process or opens the inspector',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using program = new Program(['run', fixture('lingers.ts'), '--journal', 'memory'], {
      cwd: stage.folder,
      env: stage.env,
    })
    // The run is over; a hook of the module keeps the process from ending until it was signalled.
    await program.printed(/1 succeeded/)
    await program.printed(/lingering/)
    program.process.kill('SIGUSR1')
    await program.printed(/after SIGUSR1: no inspector/)
    program.process.kill('SIGUSR2')
    await program.printed(/after SIGUSR2: no inspector/)
    assert.equal(await program.ended(), 0)
    assert.doesNotMatch(program.stderr, /Debugger/)
  },
)

test(
  'a signal while the module is loading ends the process: there is nothing to finish',
  { skip },
  async () => {
    await using stage = await Stage.open()
    using program = new Program(['run', fixture('loads-slowly.ts')], {
      cwd: stage.folder,
      env: stage.env,
    })
    await program.printed(/loading/)
    program.process.kill('SIGUSR1')
    program.process.kill('SIGINT')
    assert.equal(await program.ended(), 130)
    assert.equal(program.stderr, '')
  },
)

test(
  'C5 SIGTERM while everything sleeps: the run is left, no clean-up, and it can be resumed',
  { skip },
  async () => {
    await using stage = await Stage.open()
    const options = { cwd: stage.folder, env: stage.env }
    using program = new Program(['run', fixture('approval.ts'), '--json'], options)
    await program.printed(/"suspended".*"waitsFor":\{"signal":"approval"\}/)
    program.process.kill('SIGTERM')
    assert.equal(await program.ended(), 143)
    assert.match(program.stderr, /the run is left as it is/)
    assert.match(program.stderr, /Resume with: heddle run .* --resume \S+/)
    const { run } = program.objects.at(-1)! as { run: string }
    const listed = await runProgram(['runs', 'show', run, '--json'], options)
    assert.equal(listed.objects[0]!['state'], 'interrupted')
  },
)
