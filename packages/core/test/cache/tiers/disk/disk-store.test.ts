import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openHome, type Home } from '../../../../src/cache/tiers/disk/locked-folder.ts'
import { DiskStore, type StoreChange } from '../../../../src/cache/tiers/disk/disk-store.ts'
import { temporaryFolder } from '../support.ts'

async function openStore(
  directory: string,
  maxBytes = 1_000_000,
): Promise<{ store: DiskStore; home: Home; files: string } & AsyncDisposable> {
  const home = await openHome(directory, 'cache', false)
  const files = join(home.path, 'files')
  const store = new DiskStore(home.database, files, maxBytes)
  const close = async (): Promise<void> => {
    store.close()
    await home.lock.release()
  }
  return { store, home, files, [Symbol.asyncDispose]: close }
}

const write = (
  key: string,
  version: number,
  more: { bytes?: number; file?: string } = {},
): StoreChange => ({
  type: 'write',
  meta: { key, version, createdAt: 0, ttl: Infinity, parent: undefined },
  bytes: more.bytes ?? 10,
  body: more.file === undefined ? new Uint8Array(10) : null,
  file: more.file ?? null,
})

test('D1: of changes that arrived together only the one that cannot be done fails', async () => {
  using folder = temporaryFolder()
  await using opened = await openStore(folder.path)
  const { store } = opened
  store.commit([write('old', 1)], 0)
  // The table takes whole numbers only.
  const outcomes = store.commit([write('a', 2), write('b', 1.5), write('old', 3), write('c', 4)], 0)
  assert.deepEqual(
    outcomes.map((outcome) => (outcome instanceof Error ? 'failed' : outcome)),
    [false, 'failed', true, false],
  )
  assert.deepEqual(
    ['a', 'b', 'old', 'c'].map((key) => store.peek(key)?.version),
    [2, undefined, 3, 4],
  )
  assert.equal(store.stats.entries, 3)
  assert.equal(store.stats.bytes, 10 * 3 + 'aoldc'.length, 'nothing is counted twice')
})

test('D1: a failed clear leaves everything unchanged', async () => {
  using folder = temporaryFolder()
  await using opened = await openStore(folder.path)
  const { store, home, files } = opened
  writeFileSync(join(files, 'content'), 'x')
  store.commit([write('a', 1, { file: 'content' })], 0)
  home.database.exec(
    "CREATE TEMP TRIGGER no BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'no'); END",
  )
  const [outcome] = store.commit([{ type: 'clear' }], 0)
  assert.ok(outcome instanceof Error)
  home.database.exec('DROP TRIGGER no')
  assert.equal(store.stats.entries, 1)
  assert.equal(store.peek('a')?.file, 'content')
  assert.deepEqual(readdirSync(files), ['content'])
})

test('D2: a file goes after the last row that names it, and not while it is pinned', async () => {
  using folder = temporaryFolder()
  await using opened = await openStore(folder.path)
  const { store, files } = opened
  writeFileSync(join(files, 'shared'), 'x')
  writeFileSync(join(files, 'stray'), 'x')
  store.commit([write('a', 1, { file: 'shared' }), write('b', 2, { file: 'shared' })], 0)
  store.sweep()
  assert.deepEqual(readdirSync(files), ['shared'])
  store.commit([{ type: 'delete', key: 'a', version: 999 }], 0)
  assert.deepEqual(readdirSync(files), ['shared'])
  // Another entry is about to name it again.
  store.pin('shared')
  store.pin('shared')
  store.commit([{ type: 'delete', key: 'b', version: 999 }], 0)
  store.unpin('shared')
  assert.deepEqual(readdirSync(files), ['shared'])
  store.commit([write('c', 3, { file: 'shared' })], 0)
  store.unpin('shared')
  store.commit([{ type: 'clear' }], 0)
  assert.deepEqual(readdirSync(files), [])
})

test('D3: uses are remembered without a write for each, and survive a restart', async () => {
  using folder = temporaryFolder()
  const keys = Array.from({ length: 10 }, (_, index) => `key ${index}`)
  {
    await using opened = await openStore(folder.path)
    opened.store.commit(
      keys.map((key, index) => write(key, index)),
      0,
    )
    opened.store.read('key 0')
    opened.store.read('key 9')
  }
  await using opened = await openStore(folder.path, 100)
  const { store } = opened
  // Only this many fit: the entries unused for longest are gone, the one that was read is not.
  store.commit([write('new', 99)], 0)
  const left = [...keys, 'new'].filter((key) => store.peek(key) !== undefined)
  assert.deepEqual(left, ['key 0', 'key 6', 'key 7', 'key 8', 'key 9', 'new'])
  assert.equal(store.stats.evicted.bytes, 5)
  assert.ok(store.stats.bytes <= 100)
})

test('thousands of uses are written down before they fill memory', async () => {
  using folder = temporaryFolder()
  await using opened = await openStore(folder.path)
  const { store, home } = opened
  const keys = Array.from({ length: 5000 }, (_, index) => `key ${index}`)
  store.commit(
    keys.map((key, index) => write(key, index)),
    0,
  )
  for (const key of keys.slice(0, 1200)) store.read(key)
  const used = home.database.prepare("SELECT used FROM entries WHERE key = 'key 0'").get()
  assert.ok((used as { used: number }).used > 5000)
})

test('surplus free pages are returned to the file system', async () => {
  using folder = temporaryFolder()
  await using opened = await openStore(folder.path, 100_000_000)
  const { store, home } = opened
  const body = new Uint8Array(100_000)
  const large = (index: number): StoreChange => ({
    ...(write(`key ${index}`, index, { bytes: body.length }) as StoreChange & { type: 'write' }),
    body,
  })
  store.commit(
    Array.from({ length: 100 }, (_, index) => large(index)),
    0,
  )
  const pages = (): number =>
    (home.database.prepare('PRAGMA page_count').get() as { page_count: number }).page_count
  const before = pages()
  for (let i = 0; i < 100; i++) store.commit([{ type: 'delete', key: `key ${i}`, version: 999 }], 0)
  assert.ok(pages() < before / 2, `${before} pages became ${pages()}`)
})
