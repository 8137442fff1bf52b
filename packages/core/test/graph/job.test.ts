import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { isError } from '../../src/errors.ts'
import { job, jobsOf } from '../../src/graph/job.ts'

test('a job runs on the loop unless it says otherwise', () => {
  assert.equal(job({ name: 'a' }, () => 1).place, 'loop')
})

test('a thread job must say where it is defined', () => {
  assert.throws(
    // @ts-expect-error the types refuse it too
    () => job({ name: 'a', place: 'thread' }, () => 1),
    (error) => isError(error, 'HDL_THREAD_MODULE') && /import\.meta\.url/.test(error.help),
  )
})

test('a CommonJS module is named by its __filename, which becomes an address', () => {
  const file = fileURLToPath(new URL('commonjs-job.cjs', import.meta.url))
  const made = job({ name: 'a', place: 'thread', module: file }, () => 1)
  assert.equal(made.module, new URL('commonjs-job.cjs', import.meta.url).href)
  assert.equal(jobsOf(made.module).get('a'), made)
})

test('jobs are found by module and name', () => {
  const module = 'file:///somewhere.ts'
  const a = job({ name: 'a', module }, () => 1)
  job({ name: 'b', module }, () => 2)
  assert.deepEqual([...jobsOf(module).keys()], ['a', 'b'])
  assert.equal(jobsOf(module).get('a'), a)
  assert.equal(jobsOf('file:///nowhere.ts').size, 0)
})

test('a job without a name is refused', () => {
  assert.throws(
    () => job({ name: '' }, () => 1),
    (error) => isError(error, 'HDL_BAD_OPTION'),
  )
})

const fixture = (name: string): string =>
  new URL(`../threads/fixtures/${name}.ts`, import.meta.url).href

for (const [name, jobName, places] of [
  ['duplicate', 'same', ['duplicate.ts:6:', 'duplicate.ts:7:']],
  ['factory', 'made', ['factory.ts:7:', 'factory.ts:8:']],
  ['factory-loop', 'made', ['factory-loop.ts:7:', 'factory-loop.ts:7:']],
] as const) {
  test(`a second thread job of one name is refused with both places: ${name}`, async () => {
    await assert.rejects(import(fixture(name)), (error) => {
      assert.ok(isError(error, 'HDL_DUPLICATE_JOB'), String(error))
      assert.equal(error.details.job, jobName)
      assert.equal(error.details.module, fixture(name))
      const { first, second } = error.details
      assert.ok(first.includes(places[0]), first)
      assert.ok(second.includes(places[1]), second)
      return true
    })
  })
}

test('a loop job and a thread job of one name are refused: a thread would find the newer one', () => {
  const module = 'file:///mixed.ts'
  job({ name: 'a', module }, () => 1)
  assert.throws(
    () => job({ name: 'a', place: 'thread', module }, () => 2),
    (error) => isError(error, 'HDL_DUPLICATE_JOB'),
  )
  assert.equal(jobsOf(module).get('a')!.place, 'loop', 'the first definition stays')
})

test('two loop jobs of one name are allowed: no thread looks them up by name', () => {
  const module = 'file:///loops.ts'
  job({ name: 'a', module }, () => 1)
  job({ name: 'a', module }, () => 2)
})

test('a module that is evaluated again defines its jobs again, under its own or another address', async () => {
  const path = fileURLToPath(new URL('./fixtures/again.cjs', import.meta.url))
  const require = createRequire(import.meta.url)
  for (let times = 0; times < 3; times++) {
    Reflect.deleteProperty(require.cache, path)
    assert.equal((require(path) as { again: { name: string } }).again.name, 'again')
    await Promise.resolve()
  }
  const jobs = fixture('jobs')
  await import(jobs)
  await import(`${jobs}?version=2`)
  assert.ok(jobsOf(`${jobs}?version=2`).has('plus'))
})
