import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunSnapshot } from '@heddle/core/lowlevel'
import { runSettings, type RetrySettings } from '../../src/runs/retry.ts'
import { fixture, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

interface Result {
  readonly ok: boolean
  readonly run: string
  readonly succeeded: readonly string[]
}

function resultOf(stdout: string): Result {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as Result
}

/** Names of the jobs that have run, in a JSON output. */
function startedIn(stdout: string): string[] {
  return stdout
    .split('\n')
    .filter((line) => line.includes('"state":"running"') && line.includes('"type":"node"'))
    .map((line) => (JSON.parse(line) as { name: string }).name)
}

test('heddle runs retry: the same run continues, and with --from a new one is made', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  const fixed = { cwd: stage.folder, env: { ...stage.env, HEDDLE_TEST_FIXED: '1' } }
  const failed = await runProgram(['run', fixture('artifacts.ts'), '--json'], options)
  assert.equal(failed.code, 1)
  const first = resultOf(failed.stdout)
  const retried = await runProgram(['runs', 'retry', 'last', '--json'], fixed)
  assert.equal(retried.code, 0, retried.stderr)
  assert.equal(resultOf(retried.stdout).run, first.run)
  assert.deepEqual(startedIn(retried.stdout), ['check'])
  const forked = await runProgram(['runs', 'retry', 'last', '--from', 'check', '--json'], fixed)
  assert.equal(forked.code, 0, forked.stderr)
  assert.notEqual(resultOf(forked.stdout).run, first.run)
  assert.deepEqual(startedIn(forked.stdout), ['check'])
  const args = ['run', fixture('artifacts.ts'), '--from', 'make', '--threads', '1', '--json']
  const again = await runProgram([...args, '--thread-memory', '64MB'], fixed)
  assert.equal(again.code, 0, again.stderr)
  assert.deepEqual(startedIn(again.stdout), ['make', 'check'])
  const unknown = await runProgram(['runs', 'retry', 'last', '--from', 'chek'], fixed)
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /Did you mean "check"/)
  const shown = await runProgram(['runs', 'show', 'last'], fixed)
  assert.match(shown.stdout, /from "make" of run/)
})

test('a retry has the module, arguments, nodes and limits of the run', () => {
  const settings: RetrySettings = {
    journal: undefined,
    json: false,
    color: false,
    run: 'last',
    from: undefined,
    file: undefined,
    args: [],
    allowChanges: false,
    quiet: false,
  }
  const run = {
    id: 'r',
    title: 'mine',
    command: 'heddle run -c 2 build.ts --only a b -- --month 10',
    options: { concurrency: 2, retries: 1 },
    nodes: [{ name: 'a' }, { name: 'b' }, { name: 's/x', parent: 's' }],
  } as unknown as RunSnapshot
  const { file, args, only, concurrency, retries, timeout, resume } = runSettings(run, settings)
  assert.deepEqual(
    { file, args, only, concurrency, retries, timeout, resume },
    {
      file: 'build.ts',
      args: ['--month', '10'],
      only: ['a', 'b'],
      concurrency: 2,
      retries: 1,
      timeout: undefined,
      resume: 'r',
    },
  )
  const own = { ...run, command: 'node server.ts' }
  assert.throws(() => runSettings(own, settings), /--file FILE/)
  assert.equal(runSettings(own, { ...settings, file: 'x.ts' }).file, 'x.ts')
})
