import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { findInTarball } from '../../src/pack/read-tarball.ts'
import { packNpm, scratch } from '../support/packed.ts'

test('the first file that matches, cut at the limit', async () => {
  await using temporary = await scratch()
  const { artifacts } = await packNpm(
    temporary.folder,
    'a',
    '1.0.0',
    {},
    { 'README.md': 'x'.repeat(100_000), 'src/README.md': 'inner' },
  )
  const { file } = artifacts[0]!
  const found = await findInTarball(file, /^[^/]+\/readme\.md$/i, 1000)
  assert.deepEqual(found, { path: 'package/README.md', text: 'x'.repeat(1000) })
  assert.equal(await findInTarball(file, /license/, 1000), undefined)
})

test('an archive that is damaged, cut or no archive has nothing in it', async () => {
  await using temporary = await scratch()
  const { artifacts } = await packNpm(temporary.folder, 'a', '1.0.0', {}, { 'README.md': '# Hi' })
  const { file, size } = artifacts[0]!
  const whole = await readFile(file)
  const other = path.join(temporary.folder, 'other.tgz')
  for (const content of [
    whole.subarray(0, size - 20),
    Buffer.from('no archive'),
    Buffer.alloc(0),
  ]) {
    await writeFile(other, content)
    assert.equal(await findInTarball(other, /readme/i, 1000), undefined)
  }
  assert.equal(await findInTarball(path.join(temporary.folder, 'gone'), /x/, 1), undefined)
})
