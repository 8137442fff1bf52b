/**
 * Loaded into every test process.
 *
 * - A file that leaves something open after its last test, or that hangs, is ended with a message
 *   that names the open resources. Without it the run would never end.
 * - A file whose loop is empty ends at once. Node frees its environment first otherwise, and 24.21 was seen to turn
 *   there for ever, with a whole processor, after a test that had killed servers with open connections.
 * - What a test forks starts as it would from a program: the runner starts its files with every
 *   option spelled out, and among them `--report-signal=SIGUSR2` makes a child that is sent this
 *   signal write a report into the working folder.
 * - `node:test` follows no promises: that takes more than half of the time of tests with many. It does so to say which test
 *   an error belongs to that nothing handles. Such an error fails the file, which is ended with it, and its stack is printed;
 *   `npm test -- --isolate` names the test (docs/decisions/0700).
 */
import { appendFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { isMainThread } from 'node:worker_threads'

/** Milliseconds in which resources can finish closing, on a busy machine too. */
const graceAfterTests = 30_000
/** Milliseconds in which the tests that are left can end after an error that has failed the file. */
const graceAfterError = 30_000
/** Milliseconds without the end of a test: longer than one may take. A whole file may take as long as it does. */
const longestSilence = 900_000

function endAfter(milliseconds, what) {
  const timer = setTimeout(() => {
    const open = process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap')
    process.stderr.write(`${process.argv[1]} ${what}; open: ${open.join(', ') || 'nothing'}\n`)
    process.exit(1)
  }, milliseconds)
  return timer.unref()
}

/** `node:test`, whose hook follows no promises. It takes createHook() when it is loaded, and makes its hook with the first test. */
async function importWithoutPromises() {
  const hooks = process.getBuiltinModule('node:async_hooks')
  const { createHook } = hooks
  let hook
  hooks.createHook = (calls) => (hook = createHook({ ...calls, trackPromises: false }))
  const runner = await import('node:test')
  hooks.createHook = createHook
  // Node 22 knows hooks with promises only. All that the hook is needed for is over when the first test begins: to find the
  // suite that a test is in.
  if (process.versions.node.startsWith('22.')) runner.beforeEach(() => void hook.disable())
  return runner
}

// Threads of a test inherit the flag that loads this file.
if (isMainThread && /\.test\.(ts|mjs)$/.test(process.argv[1] ?? '')) {
  process.execArgv = []
  const isFollowing = process.env['HEDDLE_TEST_PROMISES'] === 'followed'
  const { after, afterEach } = await (isFollowing ? import('node:test') : importWithoutPromises())
  const silence = endAfter(longestSilence, `ended no test within ${longestSilence / 1000} s`)
  afterEach(() => void silence.refresh())
  after(() => endAfter(graceAfterTests, 'left something open after its last test'))
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.on(event, (error) => {
      process.stderr.write(`${error?.stack ?? error}\n`)
      endAfter(graceAfterError, `had an error that nothing handled (${event})`)
    })
  }

  let last
  process.on('beforeExit', () => {
    // The last of all listeners, those of the test runner included.
    if (last !== undefined) process.off('exit', last)
    last = (code) => process.reallyExit(process.exitCode ?? code)
    process.on('exit', last)
  })

  // What the file has cost, for the report of the run. The programs that it starts do not write there.
  const report = process.env['HEDDLE_TEST_REPORT']
  if (report !== undefined && process.env['NODE_TEST_CONTEXT'] !== undefined) {
    delete process.env['HEDDLE_TEST_REPORT']
    const { processorSeconds } = await import('./processor-seconds.ts')
    const program = path.relative(process.cwd(), process.argv[1])
    process.once('exit', () => {
      const line = { program, node: process.version, seconds: processorSeconds() ?? 0 }
      appendFileSync(report, `${JSON.stringify(line)}\n`)
    })
  }
}
