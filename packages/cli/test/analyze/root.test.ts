import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { rootOf } from '../../src/analyze/root.ts'

test('targets inside do not move the root; targets outside move it to the common folder', async (t) => {
  const top = await mkdtemp(path.join(tmpdir(), 'heddle-root-'))
  t.after(() => rm(top, { recursive: true, force: true }))
  for (const folder of ['here/src', 'there/a', 'there/b'])
    await mkdir(path.join(top, folder), { recursive: true })
  await writeFile(path.join(top, 'there/a/x.ts'), '')
  const here = path.join(top, 'here')
  const there = path.join(top, 'there')
  assert.equal(await rootOf(here, ['src', './src/x.ts:1-3', '-']), here)
  assert.equal(await rootOf(here, []), here)
  assert.equal(await rootOf(here, ['../there']), there)
  assert.equal(await rootOf(here, ['../there/a/x.ts']), path.join(there, 'a'))
  assert.equal(await rootOf(here, ['../there/a/x.ts#f', '../there/b']), there)
  assert.equal(await rootOf(here, ['src', '../there']), top)
  // A name that only begins with dots is inside.
  assert.equal(await rootOf(here, ['..hidden/x.ts']), here)
})
