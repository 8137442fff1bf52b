import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { pieceSize, type ArchiveEntry } from '../../src/pack/archive-entry.ts'
import { readTarball } from '../../src/pack/read-tarball.ts'
import { tarGzip } from '../../src/pack/tar.ts'
import { Tree } from '../plan-kit.ts'

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

const entry = (path: string, content: ArchiveEntry['content']): ArchiveEntry => ({
  path,
  isExecutable: false,
  content,
})

test('K4: a large file comes in small pieces', async () => {
  using tree = new Tree()
  const file = tree.write('large', Buffer.alloc(5_000_001, 'abc'))
  let largest = 0
  let size = 0
  for await (const piece of tarGzip([entry('package/large', { file })])) {
    largest = Math.max(largest, piece.length)
    size += piece.length
  }
  assert.ok(largest <= pieceSize, `a piece of ${largest}`)
  assert.ok(size > 0)
})

for (const [what, change] of [
  ['grows', (file: string) => fs.appendFileSync(file, 'more')],
  ['shrinks', (file: string) => fs.truncateSync(file, 100_000)],
] as const) {
  test(`a file that ${what} while it is packed is an error, not a broken archive`, async () => {
    using tree = new Tree()
    // It cannot be compressed, so that pieces come out while most of it is unread.
    const file = tree.write('large', crypto.getRandomValues(new Uint8Array(60_000)))
    for (let i = 0; i < 50; i++)
      fs.appendFileSync(file, crypto.getRandomValues(new Uint8Array(60_000)))
    const pieces = tarGzip([entry('package/large', { file })])
    await assert.rejects(
      async () => {
        let isFirst = true
        for await (const _piece of pieces) {
          if (isFirst) change(file)
          isFirst = false
        }
      },
      { code: 'HDL_STORE_FAILED', message: /changed at the same moment/ },
    )
  })
}

const hasProc = fs.existsSync('/proc/self/fd')

test(
  'leaving early closes the file that is being read',
  { skip: !hasProc && 'no /proc' },
  async () => {
    using tree = new Tree()
    const file = tree.write('large', crypto.getRandomValues(new Uint8Array(60_000)))
    const open = (): number =>
      fs.readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return fs.readlinkSync(`/proc/self/fd/${fd}`) === file
        } catch {
          return false
        }
      }).length
    const entries = Array.from({ length: 20 }, (_, i) => entry(`package/${i}`, { file }))
    for await (const _piece of tarGzip(entries)) break
    assert.equal(open(), 0)
  },
)

test('entries of any kind are read back unchanged', async () => {
  const path = fc
    .array(fc.stringMatching(/^[\w é€.-]{1,60}$/), { minLength: 1, maxLength: 6 })
    .map((names) => `package/${names.map((name) => `x${name}`).join('/')}`)
  const content = fc.string({ maxLength: 2000 }).map((text) => Buffer.from(text))
  using tree = new Tree()
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(path, content), {
        selector: ([name]) => name,
        minLength: 1,
        maxLength: 8,
      }),
      async (files) => {
        const bytes = await collect(tarGzip(files.map(([name, text]) => entry(name, text))))
        const read = await readTarball(tree.write('archive.tgz', bytes), /./)
        assert.deepEqual(
          [...read.texts],
          files.map(([name, text]) => [name, text.toString()]),
        )
        assert.equal(gunzipSync(bytes).length % 512, 0)
      },
    ),
    { numRuns: 60 },
  )
})

test('an archive that is cut off or damaged is not taken for one', async () => {
  using tree = new Tree()
  const bytes = await collect(tarGzip([entry('package/a', Buffer.alloc(10_000, 'x'))]))
  for (const damaged of [bytes.subarray(0, bytes.length - 20), Buffer.from('no archive')]) {
    await assert.rejects(readTarball(tree.write('archive.tgz', damaged), /./))
  }
})
