import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import type { ArchiveTask } from '../../src/pack/archive-job.ts'
import { writeArchive } from '../../src/pack/write-archive.ts'
import { Tree } from '../plan-kit.ts'

function taskFor(file: string): ArchiveTask {
  const content = Buffer.from('{}')
  const entry = { path: 'package/package.json', isExecutable: false, content }
  return { file, source: { kind: 'tar', entries: [entry] }, readBack: /package\.json$/ }
}

function holdUpLoop(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

test('K5: cancelled when the thread is done and the loop has not been notified: nothing is left', async () => {
  using out = new Tree()
  // The thread is up: from here on it needs nothing from the loop to finish an archive.
  await writeArchive(taskFor(out.at('first.tgz')), new AbortController().signal)
  const controller = new AbortController()
  const file = out.at('second.tgz')
  const written = writeArchive(taskFor(file), controller.signal)
  const failed = assert.rejects(written, { code: 'HDL_CANCELLED' })
  // It is sent, and the loop has not turned: the answer cannot have been heard yet.
  for (let i = 0; i < 10; i++) await new Promise<void>((done) => process.nextTick(done))
  for (let waited = 0; !existsSync(file) && waited < 20_000; waited += 5) holdUpLoop(5)
  assert.ok(existsSync(file))
  // It reads the archive back, too. Where that takes longer, the thread itself removes the file.
  holdUpLoop(200)
  controller.abort(new Error('enough'))
  await failed
  assert.deepEqual(out.names(), ['first.tgz'])
})
