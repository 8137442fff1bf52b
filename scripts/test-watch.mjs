/**
 * Loaded into every test process.
 *
 * - A file that leaves something open after its last test, or that hangs, is ended with a message
 *   that names what is open. Without it the run would never end.
 * - What a test forks starts as it would from a program: the runner starts its files with every
 *   option spelled out, and among them `--report-signal=SIGUSR2` makes a child that is sent this
 *   signal write a report into the working folder.
 */
import process from 'node:process'
import { after } from 'node:test'
import { isMainThread } from 'node:worker_threads'

/** Milliseconds in which what is being closed can finish closing. */
const graceAfterTests = 5_000
/** Milliseconds for a whole file. */
const longestFile = 240_000

function endAfter(milliseconds, what) {
  const timer = setTimeout(() => {
    const open = process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap')
    process.stderr.write(`${process.argv[1]} ${what}; open: ${open.join(', ') || 'nothing'}\n`)
    process.exit(1)
  }, milliseconds)
  timer.unref()
}

// Threads of a test inherit the flag that loads this file.
if (isMainThread && process.argv[1]?.endsWith('.test.ts')) {
  process.execArgv = []
  endAfter(longestFile, `did not end within ${longestFile / 1000} s`)
  after(() => endAfter(graceAfterTests, 'left something open after its last test'))
}
