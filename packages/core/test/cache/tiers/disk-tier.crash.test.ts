import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openCache } from '../../../src/cache/cache.ts'
import { diskTier } from '../../../src/cache/tiers/disk-tier.ts'
import { fillerOf } from './fixtures/filler.ts'
import { temporaryFolder } from './support.ts'

const writer = fileURLToPath(new URL('fixtures/crash-writer.ts', import.meta.url))

interface Value {
  readonly key: number
  readonly number: number
  readonly filler: string | Uint8Array
}

/** Starts a writer and kills it when it has acknowledged this many changes. Gives the last one of each key. */
async function killAfter(directory: string, changes: number): Promise<Map<number, number>> {
  const child = start(directory)
  const acknowledged = new Map<number, number>()
  let count = 0
  const lines = createInterface({ input: child.stdout! })
  lines.on('line', (line) => {
    if (line === 'open') return
    const [key, number] = line.split(' ').map(Number)
    acknowledged.set(key!, number!)
    if (++count === changes) child.kill('SIGKILL')
  })
  await Promise.all([once(child, 'exit'), once(lines, 'close')])
  assert.equal(child.signalCode, 'SIGKILL')
  assert.ok(count >= changes)
  return acknowledged
}

function start(directory: string): ChildProcess {
  return spawn(process.execPath, [writer, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
}

test('S30, C3: kill -9 during 1,000 writes: acknowledged entries are there, and none is torn', async () => {
  using folder = temporaryFolder()
  for (const changes of [1, 150, 350, 500]) {
    const acknowledged = await killAfter(folder.path, changes)
    await using cache = await openCache<Value>({ tier: diskTier({ directory: folder.path }) })
    for (const [key, number] of acknowledged) {
      const found = await cache.get(`key ${key}`)
      // The writer waits for each change of a key, so at most one more may have happened.
      const isDelete = (each: number): boolean => each % 7 === 0
      if (found === undefined) assert.ok(isDelete(number) || isDelete(number + 1), `key ${key}`)
      else {
        assert.deepEqual(found, { key, number: found.number, filler: fillerOf(found.number) })
        assert.ok(found.number === number + 1 || (found.number === number && !isDelete(number)))
      }
    }
    assert.equal(cache.stats().tier.evicted.damaged, 0)
    await cache.clear()
  }
})

test('a directory is free as soon as its process has been killed', async () => {
  using folder = temporaryFolder()
  const child = start(folder.path)
  await once(createInterface({ input: child.stdout! }), 'line')
  const second = openCache({ tier: diskTier({ directory: folder.path }) })
  await assert.rejects(second, { code: 'HDL_LOCKED', message: new RegExp(`pid ${child.pid} `) })
  child.kill('SIGKILL')
  await once(child, 'exit')
  await using cache = await openCache({ tier: diskTier({ directory: folder.path }) })
  await cache.set('key', 1)
})
