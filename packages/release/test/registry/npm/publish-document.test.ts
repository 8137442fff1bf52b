import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { open, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { test } from 'node:test'
import { isError } from '@heddle/core'
import type { PackedPackage } from '../../../src/model.ts'
import { publishDocument } from '../../../src/registry/npm/publish-document.ts'
import { longestTurn } from '../../support/longest-turn.ts'
import { packNpm, scratch } from '../../support/packed.ts'
import { startStub } from '../../support/servers.ts'

const require = createRequire(import.meta.url)
/** It has no types. */
const client = require('libnpmpublish') as {
  publish(manifest: object, archive: Buffer, options: object): Promise<unknown>
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}

for (const name of ['plain', '@scope/name']) {
  test(`${name}: the same bytes that the npm client sends`, async () => {
    await using temporary = await scratch()
    const packed = await packNpm(temporary.folder, name, '1.2.3-rc.1', {
      description: 'With "quotes", ü and \u0000',
      dependencies: { a: '^1.0.0' },
    })
    const bodies: Buffer[] = []
    await using stub = await startStub(async (request, response) => {
      bodies.push(await collect(request))
      response.writeHead(201).end('{}')
    })
    const archive = await readFile(packed.artifacts[0]!.file)
    await client.publish(packed.manifest, archive, {
      registry: `${stub.url}/base/`,
      access: 'public',
      defaultTag: 'next',
      fetchRetries: 0,
    })
    const document = publishDocument(packed, {
      registry: `${stub.url}/base`,
      distTag: 'next',
      access: 'public',
    })
    const ours = await collect(document.body())
    assert.equal(ours.toString(), bodies[0]!.toString())
    assert.equal(document.length, ours.length)
  })
}

test('a readme and a provenance bundle are put where the registry looks for them', async () => {
  await using temporary = await scratch()
  const packed = await packNpm(temporary.folder, 'a', '1.0.0')
  const text = '{"bundle":"\\u0000"}'
  const document = publishDocument(packed, {
    registry: 'https://r.example/',
    distTag: 'latest',
    readme: { name: 'README.md', text: '# Hello' },
    provenance: { mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json', text },
  })
  const body = await collect(document.body())
  assert.equal(document.length, body.length)
  const sent = JSON.parse(body.toString()) as {
    access?: string
    versions: Record<string, { readme: string; readmeFilename: string }>
    _attachments: Record<string, unknown>
  }
  assert.equal(sent.versions['1.0.0']?.readme, '# Hello')
  assert.equal(sent.versions['1.0.0']?.readmeFilename, 'README.md')
  assert.equal(sent.access, undefined)
  assert.deepEqual(sent._attachments['a-1.0.0.sigstore'], {
    content_type: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    data: text,
    length: text.length,
  })
})

test('an archive that differs from the packed one is never sent to its end', async () => {
  await using temporary = await scratch()
  const packed = await packNpm(temporary.folder, 'a', '1.0.0')
  const document = publishDocument(packed, { registry: 'https://r.example/', distTag: 'latest' })
  const { file, size } = packed.artifacts[0]!
  const changed = await readFile(file)
  changed[size - 9]! ^= 1
  await writeFile(file, changed)
  const sent: Uint8Array[] = []
  await assert.rejects(
    async () => {
      for await (const piece of document.body()) sent.push(piece)
    },
    (error) => isError(error, 'HDL_ARTIFACT_CHANGED'),
  )
  assert.ok(Buffer.concat(sent).length < document.length)
})

test('100 MB are encoded in slices that do not hold up the loop', async () => {
  await using temporary = await scratch()
  const file = path.join(temporary.folder, 'large.tgz')
  const size = 100 * 1024 * 1024 + 1
  const hash = createHash('sha512')
  const handle = await open(file, 'w')
  const piece = Buffer.alloc(1024 * 1024, 'heddle')
  for (let left = size; left > 0; left -= piece.length) {
    const part = piece.subarray(0, Math.min(left, piece.length))
    hash.update(part)
    await handle.write(part)
  }
  await handle.close()
  const packed: PackedPackage = {
    name: 'large',
    version: '1.0.0',
    ecosystem: 'npm',
    manifest: {},
    artifacts: [{ file, size, integrity: `sha512-${hash.digest('base64')}`, sha1: '', sha256: '' }],
  }
  const document = publishDocument(packed, { registry: 'https://r.example/', distTag: 'latest' })
  let bytes = 0
  const longest = await longestTurn(async () => {
    for await (const part of document.body()) bytes += part.length
  })
  assert.equal(bytes, document.length)
  // Measured: 2 to 8 ms. In one piece it is a second.
  assert.ok(longest < 50, `the loop was held up for ${longest} ms`)
})
