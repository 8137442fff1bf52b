import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../src/journal/open-store.ts'
import { shardCount } from '../../src/store/shard-of.ts'
import { newFolder } from './sqlite/store-folder.ts'

/** Milliseconds: longer than any test. */
const long = 600_000

test('C10: a link to a file is that file: a server that opens it by the other name takes no shard of a living one', async () => {
  await using folder = await newFolder()
  const file = path.join(folder.path, 'runs.db')
  const link = path.join(folder.path, 'link.db')
  await using first = await openStore(`sqlite:${file}`)
  await first.renew('first', long)
  assert.equal((await first.acquire('first', shardCount)).length, shardCount)
  symlinkSync(file, link)
  await using second = await openStore(`sqlite:${link}`)
  assert.equal((await second.renew('second', long)).servers, 2)
  assert.deepEqual(await second.acquire('second', shardCount), [])
})
