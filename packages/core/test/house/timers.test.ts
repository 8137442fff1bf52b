import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, files, read } from './tree.ts'

/**
 * Time, chance and task queues of the machine: given by the kernel, so that tests can replace them.
 * A date as a value is fine; asking what time it is is not.
 */
const native =
  /\b(setTimeout|setInterval|setImmediate|queueMicrotask|performance|hrtime|nextTick|Date\.now|Math\.random)\b|\bDate\(\)|\bnew Date\b(?!\()/

test('only the kernel touches native time, timers, task queues and randomness', () => {
  const found: string[] = []
  for (const file of files('packages/core/src/**/*.ts')) {
    if (file.startsWith('packages/core/src/kernel/')) continue
    const lines = codeOf(file).split('\n')
    for (const [index, line] of lines.entries()) {
      const hit = native.exec(line)
      if (hit) found.push(`${file}:${index + 1} ${hit[0]}`)
    }
    if (/from 'node:(timers|perf_hooks)/.test(read(file))) found.push(`${file} imports timers`)
  }
  assert.deepEqual(found, [])
})

test('the search itself finds timers', () => {
  assert.match(codeOf('packages/core/src/kernel/clock.ts'), native)
  assert.match('globalThis.setTimeout(f)', native)
  for (const use of ['new Date()', 'new Date', 'Date.now()', 'process.nextTick(f)']) {
    assert.match(use, native)
  }
  for (const use of ['clock.setTimer(5, f)', 'updatedDate()', 'new Date(milliseconds)']) {
    assert.doesNotMatch(use, native)
  }
})
