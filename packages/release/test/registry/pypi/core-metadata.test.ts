import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import {
  fileTypeOf,
  parseCoreMetadata,
  readCoreMetadata,
} from '../../../src/registry/pypi/core-metadata.ts'
import { artifactOf, packPython, scratch } from '../../support/packed.ts'

test('headers are fields, repeated ones too, the body is the description', () => {
  const text =
    'Metadata-Version: 2.1\r\nName: a\r\nRequires-Dist: b\r\nRequires-Dist: c\r\nLicense: one\r\n       |two\r\n        three\r\nX-Empty:\r\nnonsense\r\n\r\nBody: not a header\r\n'
  assert.deepEqual(parseCoreMetadata(text), [
    ['metadata_version', '2.1'],
    ['name', 'a'],
    ['requires_dist', 'b'],
    ['requires_dist', 'c'],
    ['license', 'one\ntwo\nthree'],
    ['x_empty', ''],
    ['description', 'Body: not a header\n'],
  ])
  assert.deepEqual(parseCoreMetadata('Name: a'), [['name', 'a']])
  assert.deepEqual(parseCoreMetadata(''), [])
})

test('the metadata of a wheel and of an sdist are the same', async () => {
  await using temporary = await scratch()
  const { artifacts } = await packPython(temporary.folder, 'same', '1.0.0')
  const [wheel, sdist] = await Promise.all(artifacts.map(readCoreMetadata))
  assert.deepEqual(wheel, sdist)
  assert.ok(wheel!.length > 10)
})

test('a file without metadata gives an empty list', async () => {
  await using temporary = await scratch()
  const file = path.join(temporary.folder, 'odd-1.0.0-py3-none-any.whl')
  await writeFile(file, 'not a zip file at all, but long enough to be looked into')
  assert.deepEqual(await readCoreMetadata(await artifactOf(file)), [])
})

test('the kind of file and its Python version are read from the name', () => {
  assert.deepEqual(fileTypeOf('a-1-cp312-cp312-manylinux_2_17_x86_64.whl'), {
    filetype: 'bdist_wheel',
    pyversion: 'cp312',
  })
  assert.equal(fileTypeOf('a-1-2build-py2.py3-none-any.whl').pyversion, 'py2.py3')
  assert.deepEqual(fileTypeOf('a-1.tar.gz'), { filetype: 'sdist', pyversion: 'source' })
})
