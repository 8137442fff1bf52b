import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import { startServer, type ServerLog } from '../../src/index.ts'
import { FolderWatch, otherFolder } from '../../src/jobs/results-folder.ts'
import { call } from '../support/client.ts'

test('a damaged folder of results: a warning with the one that is used, at every start', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-server-'))
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
  const results = path.join(folder, 'serve.results')
  const start = async (): Promise<readonly string[]> => {
    const logs: ServerLog[] = []
    await using _server = await startServer({
      jobs: [job({ name: 'one' }, () => 1)],
      port: 0,
      store: `sqlite:${path.join(folder, 'serve.db')}`,
      // The machine may hold up the loop: that is another warning.
      limits: { loopGap: Infinity },
      onLog: (line) => logs.push(line),
    })
    return logs.filter(({ level }) => level === 'warning').map(({ text }) => text)
  }
  assert.deepEqual(await start(), [])
  const [first] = readdirSync(results)
  writeFileSync(path.join(results, first!, 'cache.db'), 'damaged by a test')
  for (let round = 0; round < 2; round++) {
    const [text, ...others] = await start()
    assert.match(text!, /^The folder of the results is damaged/)
    assert.ok(text!.includes(path.join(results, `${first}-2`)), text)
    assert.deepEqual(others, [])
  }
  // Nobody holds one now.
  assert.equal(await otherFolder(results), undefined)
})

test('a folder of results that is gone: not ready, a warning, and the drain is not clean', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-server-'))
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
  const logs: string[] = []
  const server = await startServer({
    jobs: [job({ name: 'one' }, () => 1)],
    port: 0,
    store: `sqlite:${path.join(folder, 'serve.db')}`,
    limits: { loopGap: Infinity },
    onLog: ({ text }) => logs.push(text),
  })
  assert.equal((await call(server, '/jobs/one', { body: 1 })).status, 202)
  rmSync(path.join(folder, 'serve.results'), { recursive: true })
  const { isClean, isStoreFailed } = await server.drain()
  assert.deepEqual([isClean, isStoreFailed], [false, true])
  assert.match(logs.join('\n'), /The folder of the results .* is gone/)
})

test('the folder of the results is checked every five seconds', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-server-'))
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
  const clock = new VirtualClock()
  const gone = Promise.withResolvers<void>()
  const watch = new FolderWatch(folder, clock, gone.resolve)
  writeFileSync(path.join(folder, 'cache.lock.json'), '{}')
  await watch.start()
  assert.equal(await watch.look(), false)
  rmSync(path.join(folder, 'cache.lock.json'))
  await clock.advance(5_000)
  await gone.promise
  assert.equal(watch.isGone, true)
  await watch.stop()
  assert.equal(clock.pending, 0)
})
