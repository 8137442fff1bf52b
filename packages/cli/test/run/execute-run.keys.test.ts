import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Stage } from '../support/stage.ts'
import { fixture, Program, runProgram } from '../support/program.ts'

const args = ['run', fixture('staged.ts'), '--key', 'nightly', '--json']

interface Answer {
  readonly ok: boolean
  readonly run: string
  readonly succeeded: readonly string[]
}

function answerOf(stdout: string): Answer {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as Answer
}

test('S1: processes that start one key at the same moment make one run, and all report its result', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  const programs = Array.from({ length: 3 }, () => new Program([...args, '--', 'a'], options))
  await stage.started('a')
  await stage.finish('a')
  const codes = await Promise.all(programs.map((program) => program.ended()))
  assert.deepEqual(codes, [0, 0, 0])
  const answers = programs.map(({ stdout }) => answerOf(stdout))
  assert.equal(new Set(answers.map(({ run }) => run)).size, 1)
  for (const { ok, succeeded } of answers) assert.deepEqual([ok, succeeded], [true, ['a']])
  const listed = await runProgram(['runs', '--json'], options)
  const { runs } = JSON.parse(listed.stdout) as { runs: { key: string }[] }
  assert.deepEqual(
    runs.map(({ key }) => key),
    ['nightly'],
  )
})

test('S2: a process that waits takes the run over when the one that ran it is killed', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  using first = new Program([...args, '--', 'a', 'b:a'], options)
  await stage.started('a')
  await stage.finish('a')
  await stage.started('b')
  using second = new Program([...args, '--', 'a', 'b:a'], options)
  await second.printed(/waiting for run \S+ with the key \\"nightly\\", which pid \d+/)
  first.process.kill('SIGKILL')
  await first.ended()
  await second.printed(/"name":"b","state":"running"/)
  await stage.finish('b')
  assert.equal(await second.ended(), 0)
  const { ok, succeeded } = answerOf(second.stdout)
  assert.deepEqual([ok, succeeded], [true, ['a', 'b']])
  assert.doesNotMatch(second.stdout, /"name":"a","state":"running"/)
})

test('a key whose run has failed gives its exit code; one cancelled from outside gives that code', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  using first = new Program([...args, '--', 'a', 'b:a'], options)
  await stage.started('a')
  const asked = await runProgram(['runs', 'cancel', 'last'], options)
  assert.equal(asked.code, 0, asked.stderr)
  assert.match(asked.stdout, new RegExp(`Asked pid ${first.process.pid} on .* to cancel run`))
  await first.printed(/"state":"draining"/)
  await stage.finish('a')
  assert.equal(await first.ended(), 130)
  const again = await runProgram([...args, '--', 'a', 'b:a'], options)
  assert.equal(again.code, 130)
  assert.equal(answerOf(again.stdout).ok, false)
  const late = await runProgram(['runs', 'cancel', 'last'], options)
  assert.deepEqual([late.code, /is not running: it was cancelled/.test(late.stdout)], [1, true])
  using resumed = new Program([...args, '--resume', '--', 'a', 'b:a'], options)
  await stage.started('b')
  await stage.finish('b')
  assert.equal(await resumed.ended(), 0)
  const recorded = await runProgram([...args, '--', 'a', 'b:a'], options)
  assert.deepEqual([recorded.code, answerOf(recorded.stdout).ok], [0, true])
  const changed = await runProgram([...args, '--', 'a', 'c:a'], options)
  assert.equal(changed.code, 2)
  assert.match(changed.stderr, /The graph is not the one of run/)
})
