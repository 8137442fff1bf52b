import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after } from 'node:test'

/**
 * Gives the benches that a test file starts a lock of their own, so that they do not wait for a real
 * bench on this machine. The result is the path of the lock file.
 */
export function takeOwnLock(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-bench-lock-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'bench.lock')
  process.env['HEDDLE_BENCH_LOCK'] = file
  return file
}
