import assert from 'node:assert/strict'
import { rm, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import { piecesOf } from '../../src/registry/file-body.ts'
import { artifactOf, scratch } from '../support/packed.ts'

const piece = 192 * 1024

test('files of any size come whole, in pieces that can be joined in base64', async () => {
  await using temporary = await scratch()
  const file = path.join(temporary.folder, 'a')
  for (const size of [0, 1, piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 7]) {
    const content = Buffer.alloc(size, 'heddle')
    await writeFile(file, content)
    const pieces: Buffer[] = []
    for await (const each of piecesOf(await artifactOf(file))) pieces.push(each)
    assert.ok(Buffer.concat(pieces).equals(content), `${size} bytes`)
    const joined = pieces.map((each) => each.toString('base64')).join('')
    assert.equal(joined, content.toString('base64'))
  }
})

test('a file that has changed, shrunk or grown is withheld at its end', async () => {
  await using temporary = await scratch()
  const file = path.join(temporary.folder, 'a')
  for (const size of [5, piece, 2 * piece + 5]) {
    const content = Buffer.alloc(size, 'heddle')
    await writeFile(file, content)
    const artifact = await artifactOf(file)
    const changes: (() => Promise<void>)[] = [
      () => writeFile(file, Buffer.alloc(size, 'hedgehog')),
      () => truncate(file, size - 1),
      () => writeFile(file, Buffer.concat([content, Buffer.from('x')])),
    ]
    for (const change of changes) {
      await writeFile(file, content)
      await change()
      let bytes = 0
      await assert.rejects(
        async () => {
          for await (const each of piecesOf(artifact)) bytes += each.length
        },
        (error) => isError(error, 'HDL_ARTIFACT_CHANGED'),
      )
      assert.ok(bytes < size)
    }
  }
})

test('a file that is gone is said to be', async () => {
  await using temporary = await scratch()
  const file = path.join(temporary.folder, 'a')
  await writeFile(file, 'x')
  const artifact = await artifactOf(file)
  await rm(file)
  await assert.rejects(
    async () => {
      for await (const _ of piecesOf(artifact)) assert.fail()
    },
    (error) => isError(error, 'HDL_ARTIFACT_CHANGED') && /ENOENT/.test(error.message),
  )
})
