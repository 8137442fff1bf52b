import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'

const main = path.join(import.meta.dirname, '../main.ts')
const { status, stdout, stderr } = spawnSync(process.execPath, [main], { encoding: 'utf8' })

test('the sample runs to its end, with one retry, and says what decided its length', () => {
  assert.deepEqual([status, stderr], [0, ''])
  const lines = stdout.split('\n').map((line) => line.replace(/^ +[\d.]+ s {2}/, ''))
  const count = (start: string): number => lines.filter((line) => line.startsWith(start)).length
  assert.deepEqual(
    [count('start '), count('done '), count('retry '), count('failed ')],
    [9, 8, 1, 0],
  )
  assert.match(stdout, /8 of 8 jobs succeeded/)
  assert.match(stdout, /critical path, .*: download \w+ → smooth \w+ → compare → publish\n/)
  assert.match(stdout, /the longest time the loop was not free: \d+ ms\n$/)
})

test('each job starts after its own dependencies, and smoothing runs in threads', () => {
  for (const station of ['north', 'south', 'west']) {
    const downloaded = stdout.indexOf(`done    download ${station}`)
    const smoothing = stdout.indexOf(`start   smooth ${station} (thread)`)
    assert.ok(downloaded >= 0 && downloaded < smoothing, stdout)
  }
})
