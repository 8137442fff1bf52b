import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { Graph, job, startRun, type RunOptions } from '@heddle/core'
import { openJournal, seededRandom, type Journal } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { Program, cleanEnv, fixture, runProgram } from '../../support/program.ts'
import { Stage } from '../../support/stage.ts'

// Below the checkout, where a test can import the packages by name.
const folder = mkdtempSync(path.resolve(import.meta.dirname, '../../../../../.doctest-runs-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const address = `sqlite:${path.join(folder, 'runs.db')}`

/** Writes the last run as a test, and runs the test. */
async function exportAndPlay(file: string, journal = address): Promise<string> {
  const args = ['runs', 'export', 'last', '--out', file, '--journal', journal]
  const exported = await runProgram(args, { cwd: folder })
  assert.equal(exported.code, 0, exported.stderr)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=heddle-source', '--test', '--test-reporter=tap', file],
    { cwd: folder, env: cleanEnv() },
  )
  assert.match(stdout, /\nok 1 - run \S+ starts and ends as it was recorded\n/)
  assert.match(stdout, /# pass 1\n/)
  return readFileSync(path.join(folder, file), 'utf8')
}

async function record(
  graph: Graph,
  options: RunOptions,
  drive?: (journal: Journal) => Promise<unknown>,
): Promise<void> {
  await using journal = await openJournal(address)
  const run = await startRun(graph, { journal, title: 'exported', ...options })
  await drive?.(journal)
  await run.result
}

test('a real run: retries, a failure, blocked nodes, results of all kinds', async () => {
  const graph = new Graph()
  const big = job({ name: 'big' }, () => 'x'.repeat(10_000))
  const rich = job({ name: 'rich' }, () => new Map([['a', new Set([1n, null])]]))
  const flaky = job({ name: 'flaky', retries: 2 }, (_: undefined, { attempt }) => {
    if (attempt < 2) throw new RangeError(`it's "attempt" ${attempt}\n*/`)
  })
  const bad = job({ name: 'bad' }, () => {
    throw new Error('no')
  })
  for (let i = 0; i < 20; i++) graph.add(`big ${i}`, big)
  graph.add("it's \u2028 rich", rich, { after: ['big 0'] })
  graph.add('flaky', flaky, { after: ['big 1', 'big 2'] })
  graph.add('bad', bad, { after: ['big 3'] })
  graph.add('behind', rich, { after: ['bad', 'flaky'] })
  await record(graph, { concurrency: 3, retryBaseDelay: 5 })
  const source = await exportAndPlay('real.test.ts')
  assert.match(source, /value: new Map\(\[\['a', new Set\(\[1n, null\]\)\]\]\) \},\n/)
  assert.match(source, / \* 20 large results are left out\.\n/)
  assert.ok(source.length < 10_000)
})

test('priorities: each node is added when it started', async () => {
  const graph = new Graph()
  const quick = job({ name: 'quick' }, () => 1)
  for (let i = 0; i < 10; i++) graph.add(`n${i}`, quick, { priority: 9 - i })
  await record(graph, { concurrency: 2 })
  const source = await exportAndPlay('held.test.mjs')
  assert.match(source, /Each node is added when it was started/)
  assert.doesNotMatch(source, /RecordedRun/)
})

test('a run that was cancelled', async () => {
  const clock = new VirtualClock()
  const graph = new Graph()
  const waits = job({ name: 'waits' }, (_: undefined, { signal }) => {
    const { promise, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason))
    return promise
  })
  const started = Promise.withResolvers<void>()
  graph.add(
    'a',
    job({ name: 'a' }, () => started.resolve()),
  )
  graph.add('b', waits)
  graph.add('c', waits, { after: ['b'] })
  const abort = new AbortController()
  await record(
    graph,
    { signal: abort.signal, kernel: { clock, random: seededRandom(1) } },
    async () => {
      await started.promise
      abort.abort(new Error('enough'))
    },
  )
  const source = await exportAndPlay('cancelled.test.ts')
  assert.match(source, /action: 'cancel'.*action: 'abort'/)
})

test('a run that was killed', async () => {
  await using stage = await Stage.open()
  const journal = `sqlite:${path.join(folder, 'killed.db')}`
  using program = new Program(
    ['run', fixture('staged.ts'), '-c', '2', '--journal', journal, '--', 'a', 'b', 'c:a', 'd:c'],
    { cwd: stage.folder, env: stage.env },
  )
  await stage.started('b')
  await stage.finish('a')
  await stage.started('c')
  // A start is written without waiting for it, a success is: once it is reported, all before it is on disk.
  await stage.finish('b')
  await program.printed(/done +b in /)
  program.process.kill('SIGKILL')
  await program.ended()
  const source = await exportAndPlay('killed.test.ts', journal)
  assert.match(source, /The recording was cut off/)
  assert.match(source, /\['c', 'running'\],\n {2}\['d', 'waiting'\],/)
})

test('a file that is there is not overwritten unless that is wanted', async () => {
  const args = ['runs', 'export', 'last', '--out', 'twice.test.ts', '--journal', address]
  const codes: unknown[] = []
  for (const more of [[], [], ['--force'], ['--json']]) {
    const { code } = await runProgram([...args, ...more], { cwd: folder })
    codes.push(code)
  }
  assert.deepEqual(codes, [0, 2, 0, 2])
})
