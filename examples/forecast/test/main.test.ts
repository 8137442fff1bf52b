import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'

test('the service in small: every line it prints is as expected', () => {
  const main = path.join(import.meta.dirname, '../main.ts')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=heddle-source', main],
    { encoding: 'utf8', timeout: 570_000 },
  )
  assert.deepEqual([status, stderr], [0, ''], stdout)
  for (const line of [
    /^listening +forecast, quality on 127\.0\.0\.1$/m,
    /^submit +202 pending: 24 plots will be there$/m,
    /^result +200 plot 0: <svg…, \d+ characters$/m,
    /^result +200 plot -23: <svg…, \d+ characters$/m,
    /^again +202 done: the same handle/m,
    /^smaller +202 done: the larger one answers, with 24 plots$/m,
    /^bad input +400 .*expected at least 36 readings, got 1\.$/m,
    /^quick +200 while another one computes/m,
    /^ahead +202 done: 24 plots were made before they were asked for$/m,
    /^disconnect +work under way: 0, disconnected: 1$/m,
    /^slot +older 499 superseded, newer 200$/m,
    /^overload +503 overloaded, Retry-After: \d+ s$/m,
    /^health +200 also now/m,
    /^overload +5 of 12 refused; the others left/m,
    /^drain +admitted work: 200$/m,
    /^stopped +everything that was admitted has ended$/m,
  ]) {
    assert.match(stdout, line)
  }
})
