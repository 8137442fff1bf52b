import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isError } from '../../src/errors.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import { createPool, module } from './fixtures/support.ts'

const fixture = (name: string): string => new URL(`./fixtures/${name}.ts`, import.meta.url).href

async function runProgram(name: string, ...args: string[]): Promise<unknown[]> {
  const flags = ['--conditions=heddle-source']
  if (name === 'broken-start') flags.push(`--import=${fixture('throws-in-thread')}`)
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...flags,
    fileURLToPath(fixture(name)),
    ...args,
  ])
  return stdout.trim().split('\n')
}

test('a program with jobs and main in one file runs once, its jobs in threads', async () => {
  assert.deepEqual(await runProgram('single-file', '10'), ['[20,40,60]'])
})

test('a start of its own parks with parkedInThread(), which is false inside a job', async () => {
  assert.deepEqual(await runProgram('single-file-own-park'), ['main', 'false'])
})

test('a program that does not await its run finds jobs that are defined after it', async () => {
  assert.deepEqual(await runProgram('unawaited'), ['5'])
})

test('threads that cannot start fail the task after a few tries', async () => {
  const [line] = await runProgram('broken-start')
  const { code, message, crashed } = JSON.parse(line as string)
  assert.equal(code, 'HDL_THREAD_CRASHED')
  assert.match(message, /not in here/)
  assert.equal(crashed, 4)
})

test('a job is not started before the imports of its module are ready', async () => {
  await using pool = new ThreadPool({ threads: 1 })
  const length = await pool.run<number>({ module: fixture('slow'), job: 'length', input: 0 })
  assert.ok(length > 100)
})

test('a job that the module does not define is reported with the jobs that it defines', async () => {
  await using made = createPool({ threads: 1 })
  const { run } = made
  await assert.rejects(run('plsu', 1), (error) => {
    assert.ok(isError(error, 'HDL_JOB_NOT_FOUND'))
    assert.equal(error.details.module, module)
    assert.ok(error.details.found.includes('plus'))
    return true
  })
  assert.equal(await run('plus', 1), 2)
})

test('a module that throws fails each of its jobs with that cause, and only those', async () => {
  await using made = createPool({ threads: 1 })
  const { pool, run } = made
  for (let round = 0; round < 2; round++) {
    await assert.rejects(pool.run({ module: fixture('throws'), job: 'x', input: 0 }), (error) => {
      assert.ok(isError(error, 'HDL_THREAD_IMPORT'))
      assert.match(error.message, /top level/)
      assert.equal((error.cause as { code: string }).code, 'E_TOP')
      return true
    })
  }
  assert.equal(await run('plus', 1), 2)
  assert.equal(pool.stats().crashed, 0)
})

test('a syntax error and a missing file are reported as such', async () => {
  await using pool = new ThreadPool({ threads: 1 })
  await assert.rejects(
    pool.run({ module: fixture('syntax-error'), job: 'x', input: 0 }),
    (error) => {
      assert.ok(isError(error, 'HDL_THREAD_IMPORT'))
      assert.ok(error.cause instanceof SyntaxError)
      return true
    },
  )
  await assert.rejects(pool.run({ module: fixture('nowhere'), job: 'x', input: 0 }), (error) => {
    assert.ok(isError(error, 'HDL_THREAD_IMPORT'))
    assert.equal((error.cause as { code: string }).code, 'ERR_MODULE_NOT_FOUND')
    return true
  })
})

test('a module that never finishes provides the jobs it has defined when its time is over', async () => {
  await using pool = new ThreadPool({ threads: 1, loadLimit: 1 })
  const endless = fixture('endless')
  assert.equal(await pool.run({ module: endless, job: 'early', input: 1 }), 2)
  await assert.rejects(pool.run({ module: endless, job: 'unreached', input: 1 }), (error) => {
    assert.ok(isError(error, 'HDL_JOB_NOT_FOUND'))
    assert.deepEqual(error.details.found, ['early'])
    return true
  })
})

test('a module with two jobs of one name fails in the thread with both places', async () => {
  await using pool = new ThreadPool({ threads: 1 })
  const duplicate = fixture('duplicate')
  await assert.rejects(pool.run({ module: duplicate, job: 'same', input: 0 }), (error) => {
    assert.ok(isError(error, 'HDL_THREAD_IMPORT'))
    assert.match(error.message, /duplicate\.ts:6:\d+ and at .*duplicate\.ts:7:\d+/)
    assert.ok(isError(error.cause, 'HDL_DUPLICATE_JOB'))
    return true
  })
})
