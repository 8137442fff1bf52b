import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { findInZip, readFromZip } from '../../../src/pack/python/read-zip.ts'
import { scratch, zip } from '../../support/packed.ts'

test('a file is found by its path and read whole', async () => {
  await using temporary = await scratch()
  const file = path.join(temporary.folder, 'a.zip')
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), fc.string({ maxLength: 2000 }), {
        minKeys: 1,
      }),
      fc.string({ maxLength: 300 }),
      async (files, comment) => {
        const bytes = zip(files)
        const tail = Buffer.from(comment)
        bytes.writeUInt16LE(tail.length, bytes.length - 2)
        await writeFile(file, Buffer.concat([bytes, tail]))
        for (const [name, text] of Object.entries(files)) {
          const found = await findInZip(file, new RegExp(`^${name}$`))
          assert.equal(found, Buffer.from(text).toString())
        }
        assert.equal(await findInZip(file, /NOT THERE/), undefined)
      },
    ),
    { numRuns: 30 },
  )
})

test('an empty file and one that is not an archive have nothing in them', async () => {
  await using temporary = await scratch()
  const file = path.join(temporary.folder, 'a.zip')
  for (const content of ['', 'x', 'x'.repeat(100_000)]) {
    await writeFile(file, content)
    assert.equal(await findInZip(file, /./), undefined)
  }
})

test('a directory that is not where the end says holds nothing', async () => {
  await using temporary = await scratch()
  const file = path.join(temporary.folder, 'a.zip')
  const bytes = zip({ 'a/METADATA': 'Name: a\n' })
  const end = bytes.lastIndexOf('PK\u0005\u0006', undefined, 'latin1')
  bytes.writeUInt32LE(bytes.readUInt32LE(end + 16) + 3, end + 16)
  await writeFile(file, bytes)
  assert.deepEqual(await readFromZip(file, /./), { files: [], texts: new Map() })
})
