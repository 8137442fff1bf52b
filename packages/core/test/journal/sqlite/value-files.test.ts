import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { inlineLimit } from '../../../src/journal/batch.ts'
import { ValueFiles } from '../../../src/journal/sqlite/value-files.ts'
import { systemKernel } from '../../../src/kernel/kernel.ts'
import { largeOf, writeRuns } from './damage.ts'
import { newFolder, newStore } from './store-folder.ts'

async function* pieces(...sizes: number[]): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (const [index, size] of sizes.entries()) yield new Uint8Array(size).fill(index)
}

function filesIn(folder: string): ValueFiles {
  const options = { durability: 'fsync', kernel: systemKernel } as const
  return new ValueFiles(path.join(folder, 'x.db'), options)
}

test('V1: a large value is a file with the name of its hash, complete when it is named', async () => {
  await using folder = await newFolder()
  const files = filesIn(folder.path)
  const stored = await files.store(pieces(40_000, 40_000, 5))
  assert.ok('file' in stored)
  const bytes = await readFile(path.join(folder.path, 'x.db.values', stored.file))
  assert.equal(bytes.length, 80_005)
  assert.equal(createHash('sha256').update(bytes).digest('hex'), stored.file)
  assert.deepEqual(await files.read(stored.file), new Uint8Array(bytes))
  // The same value again is the same file.
  assert.deepEqual(await files.store(pieces(40_000, 40_000, 5)), stored)
  assert.deepEqual(await readdir(path.join(folder.path, 'x.db.values')), [stored.file])
})

test('a value that turns out to be small is not written to a file', async () => {
  await using folder = await newFolder()
  const files = filesIn(folder.path)
  assert.deepEqual(await files.store(pieces(2, 3)), { body: Uint8Array.of(0, 0, 1, 1, 1) })
  const atLimit = await files.store(pieces(inlineLimit))
  assert.ok('body' in atLimit)
  assert.deepEqual(await readdir(folder.path), [])
})

test('a value that cannot be encoded to its end leaves nothing behind', async () => {
  await using folder = await newFolder()
  const files = filesIn(folder.path)
  async function* broken(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield* pieces(100_000)
    throw new Error('not plain data')
  }
  await assert.rejects(files.store(broken()), /not plain data/)
  assert.deepEqual(await readdir(path.join(folder.path, 'x.db.values')), [])
})

test('a folder that cannot be made is a failed store', async () => {
  await using folder = await newFolder()
  await writeFile(path.join(folder.path, 'x.db.values'), 'in the way')
  const files = filesIn(folder.path)
  await assert.rejects(files.store(pieces(100_000)), {
    code: 'HDL_STORE_FAILED',
    message: /x\.db\.values could not hold a large value: .*EEXIST/,
  })
})

test('a large result whose file is damaged or gone is distinguished from a missing result', async () => {
  await using store = await newStore()
  await writeRuns(store.file, 2, 1)
  await using journal = await store.open({ readOnly: true })
  const folder = `${store.file}.values`
  assert.equal(await journal.valueOf('r0', 'b'), largeOf('r0'))
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name)
    const bytes = await readFile(file)
    bytes[1000]! ^= 1
    await writeFile(file, bytes)
  }
  const damaged = {
    code: 'HDL_STORE_FAILED',
    message: /read the result of "b": its file \w+ is damaged or gone/,
  }
  await assert.rejects(journal.valueOf('r0', 'b'), damaged)
  await rm(folder, { recursive: true })
  await assert.rejects(journal.valueOf('r1', 'b'), damaged)
  assert.equal(await journal.valueOf('r1', 'a'), 'small of r1')
})
