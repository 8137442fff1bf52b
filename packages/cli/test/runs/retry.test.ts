import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
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

function recordedRun(command: string, options: Record<string, unknown> = {}): RunSnapshot {
  const nodes = [{ name: 'a' }, { name: 'b' }, { name: 's/x', parent: 's' }]
  return { id: 'r', title: 'mine', command, options, nodes } as unknown as RunSnapshot
}

test('a retry has the module, arguments, nodes and limits that the journal recorded', () => {
  const file = path.resolve('my build.ts')
  const run = recordedRun(
    'heddle run --title other.ts my build.ts --only a b -- --month 1 0 -- x',
    {
      concurrency: 2,
      retries: 1,
      threads: { count: 3, memory: 1_000 },
      only: ['a', 'b'],
      module: { file, args: ['--month', '1 0', '--', 'x'] },
    },
  )
  const { args, only, concurrency, retries, timeout, resume, threads, threadMemory, ...rest } =
    runSettings(run, settings)
  assert.equal(rest.file, 'my build.ts')
  assert.deepEqual(
    { args, only, concurrency, retries, timeout, resume, threads, threadMemory },
    {
      args: ['--month', '1 0', '--', 'x'],
      only: ['a', 'b'],
      concurrency: 2,
      retries: 1,
      timeout: undefined,
      resume: 'r',
      threads: 3,
      threadMemory: 1_000,
    },
  )
})

test('a module in another folder is found where the run found it', () => {
  const run = recordedRun('heddle run build.ts', {
    module: { file: '/elsewhere/build.ts', args: [] },
  })
  assert.equal(runSettings(run, settings).file, '/elsewhere/build.ts')
})

test('a run whose module or arguments are not in the journal is refused, not guessed', () => {
  const program = recordedRun('node server.ts')
  assert.throws(() => runSettings(program, settings), /--file FILE/)
  assert.equal(runSettings(program, { ...settings, file: 'x.ts' }).file, 'x.ts')
  // A password in an argument is not recorded, and neither is the argument.
  const secret = recordedRun('heddle run a.ts', { module: { file: '/a.ts' } })
  assert.throws(() => runSettings(secret, settings), /typed again after --/)
  assert.deepEqual(runSettings(secret, { ...settings, args: ['x'] }).args, ['x'])
  const moved = runSettings(recordedRun('', { module: { file: '/a.ts', args: ['1 2'] } }), {
    ...settings,
    file: 'b.ts',
  })
  assert.deepEqual({ file: moved.file, args: moved.args }, { file: 'b.ts', args: ['1 2'] })
})

test('from a run of an earlier version, only certain options are taken from its command', () => {
  const one = runSettings(recordedRun('heddle run build.ts -c 2 --only a b -- x'), settings)
  assert.deepEqual([one.file, one.args, one.only], ['build.ts', ['x'], ['a', 'b']])
  const files = recordedRun('heddle run --title other.ts build.ts')
  assert.throws(() => runSettings(files, settings), /--file FILE/)
  // One word or two: the command does not say.
  const words = recordedRun('heddle run build.ts -- a b')
  assert.throws(() => runSettings(words, settings), /typed again after --/)
})

test('heddle runs retry calls the module with the same words, also from another folder', async () => {
  await using stage = await Stage.open()
  const here = { cwd: stage.folder, env: stage.env }
  const flow = path.join(stage.folder, 'my flow.ts')
  await writeFile(flow, `export { default } from ${JSON.stringify(fixture('arguments.ts'))}`)
  const words = ['run', 'my flow.ts', '--title', 'other.ts', '--json', '--', 'a b', '--', "it's"]
  const failed = await runProgram(words, here)
  assert.equal(failed.code, 1, failed.stderr)
  const elsewhere = path.join(stage.folder, 'elsewhere')
  await mkdir(elsewhere)
  const journal = `sqlite:${path.join(stage.folder, '.heddle/runs.db')}`
  const fixed = { cwd: elsewhere, env: { ...stage.env, HEDDLE_TEST_FIXED: '1' } }
  const retried = await runProgram(['runs', 'retry', 'last', '-j', journal, '--json'], fixed)
  assert.equal(retried.code, 0, retried.stderr + retried.stdout)
  assert.deepEqual(resultOf(retried.stdout).succeeded, ["a b|--|it's"])
  const shown = await runProgram(['runs', 'show', 'last', '-j', journal], fixed)
  assert.match(shown.stdout, /-- 'a b' -- 'it'\\''s'/)
})
