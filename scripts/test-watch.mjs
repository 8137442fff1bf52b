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
 */
import process from 'node:process'
import { after, afterEach } from 'node:test'
import { isMainThread } from 'node:worker_threads'

/** Milliseconds in which resources can finish closing, on a busy machine too. */
const graceAfterTests = 30_000
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

// Threads of a test inherit the flag that loads this file.
if (isMainThread && /\.test\.(ts|mjs)$/.test(process.argv[1] ?? '')) {
  process.execArgv = []
  const silence = endAfter(longestSilence, `ended no test within ${longestSilence / 1000} s`)
  afterEach(() => void silence.refresh())
  after(() => endAfter(graceAfterTests, 'left something open after its last test'))

  let last
  process.on('beforeExit', () => {
    // The last of all listeners, those of the test runner included.
    if (last !== undefined) process.off('exit', last)
    last = (code) => process.reallyExit(process.exitCode ?? code)
    process.on('exit', last)
  })
}
