/**
 * Runs the tests: `npm test [-- file-part… --test-name-pattern=regex]`.
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
import { root } from './tool.ts'

const patterns = [
  'packages/*/test/**/*.test.ts',
  'bench/test/**/*.test.ts',
  'chaos/test/**/*.test.ts',
  'examples/*/test/**/*.test.ts',
]

/** Milliseconds. A test that has not ended by then waits for something that never comes. */
const testTimeout = 120_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'test-name-pattern': { type: 'string', multiple: true },
    concurrency: { type: 'string' },
  },
})

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
const events = run({
  files: files.map((file) => path.join(root, file)),
  concurrency: Number(values.concurrency ?? os.availableParallelism()),
  timeout: testTimeout,
  execArgv: ['--import', new URL('test-watch.mjs', import.meta.url).href],
  ...(values['test-name-pattern'] && { testNamePatterns: values['test-name-pattern'] }),
})

/** The counts end the output, also after a long list of failures: they are kept back until then. */
const countLine = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/
const closing: string[] = []
async function* withoutCounts(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of source) {
    if (event.type !== 'test:diagnostic' || !countLine.test(event.data.message)) yield event
    else closing.push(event.data.message)
  }
}

let passed = false
events.on('test:summary', ({ file, counts, success }) => {
  if (file === undefined) passed = success && counts.tests > 0
})
process.on('exit', (code) => {
  closing.push(
    `files ${files.length}`,
    `seconds ${((performance.now() - started) / 1000).toFixed(1)}`,
  )
  process.stdout.write(closing.map((line) => `ℹ ${line}\n`).join(''))
  if (code === 0 && !passed) process.exitCode = 1
})
events.compose<Duplex>(withoutCounts).compose(new spec()).pipe(process.stdout)
