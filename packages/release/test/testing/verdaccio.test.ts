import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startVerdaccio } from '../../src/testing/verdaccio.ts'

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a real registry: empty, on a free port, and gone without a trace', async () => {
  const registry = await startVerdaccio()
  try {
    assert.match(registry.url, /^http:\/\/127\.0\.0\.1:\d+$/)
    const answer = await fetch(`${registry.url}/left-pad`)
    assert.equal(answer.status, 404)
    assert.ok(isAlive(registry.pid))
  } finally {
    await registry.close()
  }
  assert.ok(!isAlive(registry.pid))
  assert.ok(!existsSync(registry.folder))
  await registry.close()
})

test('it ends with its parent, even if the whole process group of that is killed', async () => {
  const parent = fork(fileURLToPath(new URL('./fixtures/registry-holder.ts', import.meta.url)), {
    detached: true,
  })
  const [{ pid, folder }] = (await once(parent, 'message')) as [{ pid: number; folder: string }]
  assert.ok(isAlive(pid))
  const ended = once(parent, 'exit')
  process.kill(-parent.pid!, 'SIGKILL')
  await ended
  while (isAlive(pid)) await new Promise((done) => setTimeout(done, 5))
  assert.ok(!existsSync(folder))
})
