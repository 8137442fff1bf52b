import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { openCache, type Cache } from '../../../src/cache/cache.ts'
import type { HeddleError } from '../../../src/errors.ts'
import { cacheTierCases } from '../../../src/testing/cache-tier-cases.ts'
import type { CacheTier } from '../../../src/cache/tier.ts'
import { diskTier, type DiskTierOptions } from '../../../src/cache/tiers/disk-tier.ts'
import { homes, temporaryFolder } from './support.ts'

for (const { name, run } of cacheTierCases(openTier)) {
  test(`disk tier: ${name}`, async () => {
    using folder = temporaryFolder()
    current = folder.path
    await run()
  })
}

let current = ''

async function openTier(options: { maxBytes: number }): Promise<CacheTier> {
  const tier = diskTier({ ...options, directory: current, durability: 'process' })
  await tier.open()
  return tier
}

const open = <V = unknown>(
  directory: string,
  options: Partial<DiskTierOptions> = {},
): Promise<Cache<V>> => openCache<V>({ tier: diskTier({ directory, ...options }) })

const filesIn = (home: string): string[] => readdirSync(join(home, 'files'))

const large = (fill: number): Uint8Array => new Uint8Array(300_000).fill(fill)

test('S22, S23 entries that were set or deleted stay so after a restart, small and large', async () => {
  using folder = temporaryFolder()
  const values = {
    small: { list: [1, 2, 3], text: 'é' },
    text: 'x'.repeat(3_000_000),
    bytes: new Uint8Array(2_000_000).fill(7),
    nodes: Array.from({ length: 20_000 }, (_, id) => ({ id, name: `node ${id}` })),
  }
  {
    await using cache = await open(folder.path)
    await Promise.all(Object.entries(values).map(([key, value]) => cache.set(key, value)))
    await cache.set('gone', large(1))
    await cache.set('replaced', large(2))
    await cache.set('replaced', 'small now')
    assert.equal(await cache.delete('gone'), true)
  }
  await using cache = await open(folder.path)
  for (const [key, value] of Object.entries(values)) {
    assert.deepEqual(await cache.get(key), value)
  }
  assert.equal(await cache.get('gone'), undefined)
  assert.equal(await cache.get('replaced'), 'small now')
  assert.equal(filesIn(homes(folder.path)[0]!).length, 3, 'no file is left of what has gone')
})

test('version numbers continue after a restart, so that parents are not mistaken', async () => {
  using folder = temporaryFolder()
  let version = 0
  {
    await using cache = await open<string>(folder.path)
    await cache.set('parent', 'v1')
    const parent = await cache.entry('parent')
    version = parent!.version
    await cache.set('derived', 'of v1', { parent })
  }
  {
    await using cache = await open<string>(folder.path)
    assert.equal(await cache.get('derived'), 'of v1')
    await cache.set('parent', 'v2')
    assert.ok((await cache.entry('parent'))!.version > version)
    await cache.clear()
  }
  await using cache = await open<string>(folder.path)
  await cache.set('parent', 'v3')
  assert.ok((await cache.entry('parent'))!.version > version + 1)
  assert.equal(await cache.get('derived'), undefined)
})

test('a second user of the directory is refused, until the first has gone', async () => {
  using folder = temporaryFolder()
  const first = await open(folder.path)
  const holder = new RegExp(`pid ${process.pid} `)
  await assert.rejects(open(folder.path), { code: 'HDL_LOCKED', message: holder, retryable: true })
  await first.stop()
  await using second = await open(folder.path)
  await second.set('key', 1)
})

test('an opener that is refused leaves the locks of the first unchanged', async () => {
  using folder = temporaryFolder()
  await using first = await open(folder.path)
  await first.set('key', 1)
  await assert.rejects(open(folder.path), { code: 'HDL_LOCKED' })
  const [home] = homes(folder.path)
  const file = join(home!, 'cache.db')
  const script = `
    const { DatabaseSync } = require('node:sqlite')
    try {
      new DatabaseSync(process.argv[1], { timeout: 0 }).exec('BEGIN IMMEDIATE')
      console.log('locked by nobody')
    } catch (error) { console.log(error.errstr) }`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script, file])
  assert.equal(stdout, 'database is locked\n')
})

test('different namespaces do not see each other; the order of their parts does not matter', async () => {
  using folder = temporaryFolder()
  await using first = await open(folder.path, { namespace: { model: 'a', size: 1 } })
  await using second = await open(folder.path, { namespace: { model: 'b', size: 1 } })
  await first.set('key', 'of a')
  assert.equal(await second.get('key'), undefined)
  assert.equal(homes(folder.path).length, 2)
  await first.stop()
  await using again = await open(folder.path, { namespace: { size: 1, model: 'a' } })
  assert.equal(await again.get('key'), 'of a')
  assert.throws(() => diskTier({ directory: folder.path, namespace: () => 1 }), {
    code: 'HDL_BAD_OPTION',
  })
})

test('S30 unknown folders, and folders of another format or damaged, are ignored and never deleted', async () => {
  using folder = temporaryFolder()
  await (await open(folder.path)).stop()
  const [home] = homes(folder.path)
  // A later format has another name; a stranger may have anything anywhere.
  const future = home!.replace('-v1-', '-v2-')
  mkdirSync(future)
  writeFileSync(join(future, 'cache.db'), 'from the future')
  writeFileSync(join(folder.path, 'notes.txt'), 'mine')
  const header = readFileSync(join(home!, 'cache.db'))
  const strange: [string, (database: Buffer) => Buffer][] = [
    ['not a database', () => Buffer.from('something else')],
    ['of another application', (database) => changed(database, 68, 1)],
    ['of a newer schema', (database) => changed(database, 60, 99)],
    ['damaged', (database) => database.fill(0xff, 100)],
  ]
  for (const [index, [name, change]] of strange.entries()) {
    const path = index === 0 ? home! : `${home!}-${index + 1}`
    mkdirSync(path, { recursive: true })
    const content = change(Buffer.from(header))
    writeFileSync(join(path, 'cache.db'), content)
    await using cache = await open(folder.path)
    await cache.set('key', name)
    assert.equal(await cache.get('key'), name)
    assert.ok(readFileSync(join(path, 'cache.db')).equals(content), `${name} is untouched`)
    assert.ok(existsSync(`${home!}-${index + 2}`), 'it went on beside it')
  }
  const foreign = `${home!}-${strange.length + 1}`
  assert.ok(existsSync(foreign))
  assert.equal(readFileSync(join(future, 'cache.db'), 'utf8'), 'from the future')
  assert.equal(readFileSync(join(folder.path, 'notes.txt'), 'utf8'), 'mine')
})

function changed(database: Buffer, at: number, to: number): Buffer {
  database.writeUInt32BE(to, at)
  return database
}

test('S30 a directory of the right name with strange content is left alone', async () => {
  using folder = temporaryFolder()
  await (await open(folder.path)).stop()
  const [home] = homes(folder.path)
  using other = temporaryFolder()
  const path = join(other.path, home!.split('/').at(-1)!)
  mkdirSync(path)
  writeFileSync(join(path, 'thesis.doc'), 'the only copy')
  await using cache = await open(other.path)
  await cache.set('key', 1)
  assert.deepEqual(readdirSync(path), ['thesis.doc'])
})

test('a large value whose file was changed or removed is a miss, and is deleted', async () => {
  using folder = temporaryFolder()
  {
    await using cache = await open(folder.path)
    await cache.set('changed', large(1))
    await cache.set('cut', large(2))
    await cache.set('removed', large(3))
    await cache.set('whole', large(4))
  }
  const [home] = homes(folder.path)
  const byContent = new Map(
    filesIn(home!).map((name) => {
      const path = join(home!, 'files', name)
      return [readFileSync(path)[100]!, path] as const
    }),
  )
  writeFileSync(byContent.get(1)!, readFileSync(byContent.get(1)!).fill(9, 1000, 1001))
  writeFileSync(byContent.get(2)!, readFileSync(byContent.get(2)!).subarray(0, 1000))
  rmSync(byContent.get(3)!)
  await using cache = await open<Uint8Array>(folder.path)
  for (const key of ['changed', 'cut', 'removed']) {
    assert.equal(await cache.get(key), undefined)
    assert.equal(await cache.has(key), false)
  }
  assert.deepEqual(await cache.get('whole'), large(4))
  assert.equal(cache.stats().tier.evicted.damaged, 3)
})

test('equal large values share a file; it goes with the last of them', async () => {
  using folder = temporaryFolder()
  await using cache = await open<Uint8Array>(folder.path)
  const [home] = homes(folder.path)
  await Promise.all(['a', 'b', 'c'].map((key) => cache.set(key, large(1))))
  assert.equal(filesIn(home!).length, 1)
  await cache.delete('a')
  await cache.set('b', large(2))
  assert.equal(filesIn(home!).length, 2)
  assert.deepEqual(await (await reopened(cache, folder.path)).get('c'), large(1))
})

async function reopened<V>(cache: Cache<V>, directory: string): Promise<Cache<V>> {
  await cache.stop()
  return open<V>(directory)
}

test('half-written files of a crash are removed at the next start', async () => {
  using folder = temporaryFolder()
  await (await open(folder.path)).stop()
  const [home] = homes(folder.path)
  writeFileSync(join(home!, 'files', 'a'.repeat(64)), 'no row names it')
  writeFileSync(join(home!, 'staging', '7'), 'never finished')
  await using cache = await open(folder.path)
  await cache.set('key', 1)
  assert.deepEqual([filesIn(home!), readdirSync(join(home!, 'staging'))], [[], []])
})

test('S29 the bound on disk holds, and room is used again', async () => {
  using folder = temporaryFolder()
  const maxBytes = 2_000_000
  await using cache = await openCache<Uint8Array>({
    tier: diskTier({ directory: folder.path, maxBytes, durability: 'process' }),
    maxBytes: 100_000,
  })
  const [home] = homes(folder.path)
  for (let i = 0; i < 300; i++) await cache.set(`small ${i}`, new Uint8Array(20_000).fill(i))
  for (let i = 0; i < 20; i++) await cache.set(`large ${i}`, large(i))
  const { tier } = cache.stats()
  assert.ok(tier.bytes <= maxBytes)
  assert.equal(tier.evicted.bytes, 300 + 20 - tier.entries)
  assert.equal(await cache.get('small 0'), undefined)
  assert.deepEqual(await cache.get('large 19'), large(19))
  assert.equal(filesIn(home!).length, 6, 'files of evicted entries are gone')
  const size = statSync(join(home!, 'cache.db')).size
  assert.ok(size < 2 * maxBytes, `6 MB went through a file of ${size} bytes`)
})

test('S29 expired entries leave the disk when something is written', async () => {
  using folder = temporaryFolder()
  const tier = diskTier({ directory: folder.path })
  await tier.open()
  const body = (): Uint8Array<ArrayBuffer> => new Uint8Array(10)
  // Long ago, as clocks go.
  for (let i = 0; i < 10; i++) {
    await tier.write(`old ${i}`, { version: i, createdAt: 0, ttl: 1000 + i, body: body() })
  }
  await tier.write('new', { version: 11, createdAt: 0, ttl: Infinity, body: body() })
  const { entries, evicted } = tier.stats()
  assert.deepEqual([entries, evicted.expired], [1, 10])
  await tier.close()
})

test('S27 SQLite and files are used in the thread only', async () => {
  using folder = temporaryFolder()
  await using cache = await open(folder.path)
  await cache.set('small', 1)
  await cache.set('large', large(1))
  const loaded = (process as unknown as { moduleLoadList: string[] }).moduleLoadList
  assert.ok(!loaded.some((name) => name.endsWith(' sqlite')), 'the loop has not even loaded it')
})

test('an operation after the end of the thread starts a new one; operations under way fail', async () => {
  using folder = temporaryFolder()
  const threads: Worker[] = []
  const notice = (thread: Worker): void => void threads.push(thread)
  process.on('worker', notice)
  const tier = diskTier({ directory: folder.path })
  await tier.open()
  const entry = { version: 1, createdAt: 0, ttl: Infinity }
  await tier.write('key', { ...entry, body: new Uint8Array([1]) })

  // The thread may have answered before it ends; no caller is left without an answer.
  const reading = tier.read('key').then(
    (read) => assert.deepEqual(read?.body, new Uint8Array([1])),
    (thrown: unknown) => assert.equal((thrown as HeddleError).code, 'HDL_STORE_FAILED'),
  )
  const pieces = (async function* () {
    yield new Uint8Array(200_000)
    await threads[0]!.terminate()
    yield new Uint8Array(200_000)
  })()
  const body = pieces as AsyncIterable<Uint8Array<ArrayBuffer>>
  const error = { code: 'HDL_STORE_FAILED', message: /thread ended with code 1/ }
  await assert.rejects(tier.write('large', { ...entry, body }), error)
  await reading

  assert.deepEqual((await tier.read('key'))?.body, new Uint8Array([1]))
  assert.equal(await tier.read('large'), undefined)
  assert.equal(threads.length, 2)
  await tier.close()
  await assert.rejects(tier.read('key'), { code: 'HDL_CLOSED' })
  await assert.rejects(tier.write('key', { ...entry, body: new Uint8Array(1) }), {
    code: 'HDL_CLOSED',
  })
  process.off('worker', notice)
})

test('a cache keeps the process alive while something is under way, and not when it is idle', async () => {
  using folder = temporaryFolder()
  const cache = await open(folder.path)
  const isHolding = (): boolean => process.getActiveResourcesInfo().includes('MessagePort')
  assert.equal(isHolding(), false)
  const set = cache.set('key', 1)
  assert.equal(isHolding(), true)
  await set
  assert.equal(isHolding(), false)
  await cache.stop()
})

test('values of any size leave the count of pending bytes unchanged', async () => {
  using folder = temporaryFolder()
  const tier = diskTier({ directory: folder.path, durability: 'process' })
  await using cache = await openCache({ tier, maxPendingBytes: 100_000 })
  for (let i = 0; i < 10; i++) await cache.set(`key ${i}`, 'x'.repeat(15_000 + 2000 * i))
  assert.equal(cache.stats().pending.bytes, 0)
})

test('bytes from the pool of Node are written like others', async () => {
  using folder = temporaryFolder()
  const tier = diskTier({ directory: folder.path, durability: 'process' })
  await tier.open()
  const body = Buffer.concat([Buffer.alloc(20_000, 'x')])
  await tier.write('key', { version: 1, createdAt: 0, ttl: Infinity, body })
  assert.deepEqual((await tier.read('key'))!.body, new Uint8Array(20_000).fill(120))
  await tier.close()
})

test('a cache whose folder was deleted, or whose database was emptied, acknowledges nothing', async () => {
  for (const [harm, problem] of [
    [(home: string) => rmSync(home, { recursive: true }), /its folder was deleted or moved/],
    [(home: string) => truncateSync(join(home, 'cache.db')), /its database was emptied/],
    [(home: string) => truncateSync(join(home, 'cache.db-wal')), /log was (emptied|cut short)/],
    [
      (home: string) => rmSync(join(home, 'files'), { recursive: true }),
      /large values was deleted/,
    ],
  ] as const) {
    using folder = temporaryFolder()
    const tier = diskTier({ directory: folder.path, durability: 'process' })
    await tier.open()
    const entry = { version: 1, createdAt: 0, ttl: Infinity }
    const write = (key: string): Promise<boolean> =>
      tier.write(key, { ...entry, body: new Uint8Array([1]) })
    await write('before')
    harm(homes(folder.path)[0]!)
    await assert.rejects(write('after'), { code: 'HDL_STORE_FAILED', message: problem })
    await assert.rejects(tier.delete('before', 2), { code: 'HDL_STORE_FAILED' })
    await tier.close()
  }
})

test('a database that shrinks because its free pages were released is not mistaken for a damaged one', async () => {
  using folder = temporaryFolder()
  const tier = diskTier({ directory: folder.path, durability: 'process' })
  await tier.open()
  const entry = { createdAt: 0, ttl: Infinity }
  const file = join(homes(folder.path)[0]!, 'cache.db')
  for (let i = 0; i < 200; i++) {
    await tier.write(`key ${i}`, { ...entry, version: i, body: new Uint8Array(100_000).fill(i) })
  }
  const longest = statSync(file).size
  await tier.clear()
  for (let i = 0; i < 400 && statSync(file).size >= longest; i++) {
    await tier.write('small', { ...entry, version: 300 + i, body: new Uint8Array(100_000) })
  }
  assert.ok(statSync(file).size < longest)
  await tier.write('last', { ...entry, version: 999, body: new Uint8Array(1) })
  await tier.close()
})
