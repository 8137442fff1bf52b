import assert from 'node:assert/strict'
import test from 'node:test'
import { isOurs } from '../../src/output/own-frames.ts'

test('frames of this package and of the engine are ours, in a checkout and installed', () => {
  for (const file of [
    '/repo/packages/core/src/kernel/clock.ts:57:26',
    '/repo/packages/cli/dist/main.js:1:1',
    'C:\\app\\node_modules\\@heddle\\core\\dist\\run.js',
    '/app/node_modules/heddle/dist/main.js',
  ]) {
    assert.equal(isOurs(`at f (${file})`), true, file)
  }
  for (const file of ['/home/heddle/jobs.ts:1:1', '/repo/packages/core/test/x.ts', 'jobs.ts:1']) {
    assert.equal(isOurs(`at f (${file})`), false, file)
  }
})
