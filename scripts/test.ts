/**
 * Runs the tests: `npm test [-- file-part… --test-name-pattern=regex --node22]`.
 *
 * Without a part and without a pattern core's tests run a second time, on the oldest Node that is
 * supported; with `--node22` they run only there (scripts/node22.ts).
 *
 * Every file runs in a process of its own. One process for all would be several times faster, but a
 * file that leaves a thread, a signal handler or a listener behind would then fail another file, and
 * the one at fault would look innocent (docs/decisions/0082).
 */
import { globSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import { run } from 'node:test'
import { spec, type TestEvent } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { provideTestPostgres } from '@heddle/test-servers'
import { testOnNode22 } from './node22.ts'
import { root } from './tool.ts'

const patterns = [
  'packages/*/test/**/*.test.ts',
  'bench/test/**/*.test.ts',
  'servers/test/**/*.test.ts',
  'chaos/test/**/*.test.ts',
  'examples/*/test/**/*.test.ts',
]

/**
 * Milliseconds. A test that has not ended by then waits for something that never comes. It is no measure of speed: beside
 * eight busy processes on two cores the slowest test takes minutes.
 */
const testTimeout = 600_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'test-name-pattern': { type: 'string', multiple: true },
    concurrency: { type: 'string' },
    node22: { type: 'boolean', default: false },
  },
})

/** Run only when they are asked for: they install packages from the registry, which takes many minutes on a busy machine. */
const onRequest = 'scripts/test/**/*.test.ts'
if (positionals.some((part) => part.startsWith('scripts/test'))) patterns.push(onRequest)

const files = globSync(patterns, { cwd: root })
  .map((file) => file.split(path.sep).join('/'))
  .filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)))
  .toSorted()
if (files.length === 0) {
  console.error(`No test file has ${positionals.join(' or ')} in its path.`)
  process.exit(1)
}

// Test processes are short: most of their time is compiling what the last one has compiled.
process.env['NODE_COMPILE_CACHE'] ??= path.join(root, 'node_modules/.cache/compile')

process.chdir(root)
const started = performance.now()
const concurrency = Number(values.concurrency ?? os.availableParallelism())
const namePatterns = values['test-name-pattern'] ?? []

/** The counts end the output, also after a long list of failures: they are kept back until then. */
const counts = new Map<string, number>()
function count(name: string, value: number): void {
  counts.set(name, (counts.get(name) ?? 0) + value)
}

/** Whether all tests passed on this Node. */
async function testHere(): Promise<boolean> {
  const events = run({
    files: files.map((file) => path.join(root, file)),
    concurrency,
    timeout: testTimeout,
    execArgv: ['--import', new URL('test-watch.mjs', import.meta.url).href],
    ...(namePatterns.length > 0 && { testNamePatterns: namePatterns }),
  })
  let passed = false
  events.on('test:summary', ({ file, counts: { tests }, success }) => {
    if (file === undefined) passed = success && tests > 0
  })
  const lines = events.compose<Duplex>(withoutCounts).compose(new spec())
  for await (const text of lines) process.stdout.write(text as string)
  return passed
}

const countLine = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/
async function* withoutCounts(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of source) {
    const [, name, value] =
      event.type === 'test:diagnostic' ? (countLine.exec(event.data.message) ?? []) : []
    if (name === undefined) yield event
    else count(name, Number(value))
  }
}

async function testThere(): Promise<boolean> {
  console.log('\nCore on the oldest supported Node')
  // Node 22 applies the limit to whole files.
  const timeout = 5 * testTimeout
  const result = await testOnNode22({ files, concurrency, timeout, namePatterns })
  if (result.skipped !== undefined) console.log(`ℹ node22 skipped: ${result.skipped}`)
  for (const [name, value] of result.counts) count(name, value)
  return result.ok
}

const isWhole = positionals.length === 0 && namePatterns.length === 0
const postgres = await provideTestPostgres()
let isPassed = values.node22 || (await testHere())
if (values.node22 || isWhole) isPassed = (await testThere()) && isPassed
await postgres[Symbol.asyncDispose]()
count('files', files.length)
for (const [name, value] of counts) console.log(`ℹ ${name} ${value}`)
console.log(`ℹ seconds ${((performance.now() - started) / 1000).toFixed(1)}`)
if (!isPassed) process.exitCode = 1
