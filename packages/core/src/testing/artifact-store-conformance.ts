/** The conformance tests of every artifact store: F1 to F6 of artifacts/artifact-store.ts. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import type {
  ArtifactQuota,
  ArtifactRange,
  ArtifactStore,
  ArtifactUpload,
} from '../artifacts/artifact-store.ts'
import { pieceBytes } from '../artifacts/pieces.ts'

/** A store that a test makes and drops. */
export interface ArtifactStoreUnderTest extends AsyncDisposable {
  /** Opens it, also a second time, as another process would after the first one has died. */
  open(quota?: Partial<ArtifactQuota>): Promise<ArtifactStore>
}

interface ArtifactCase {
  readonly title: string
  run(store: ArtifactStoreUnderTest): Promise<void>
}

function uploadOf(bytes: Uint8Array): ArtifactUpload {
  return { length: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}

async function read(
  store: ArtifactStore,
  name: string,
  range?: ArtifactRange,
  run = 'run-1',
): Promise<string> {
  const chunks: Uint8Array[] = []
  const opened = await store.open(run, name, range)
  for await (const chunk of opened.bytes) chunks.push(chunk)
  return Buffer.concat(chunks).toString('latin1')
}

/** Content that ends with an error after these pieces. */
async function* cutAfter(...pieces: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* pieces
  throw new Error('the connection was lost')
}

const cut = { message: 'the connection was lost' }

const cases: readonly ArtifactCase[] = [
  {
    title: 'F1: an artifact is listed with its length, checksum and writer, and read back',
    run: async (under) => {
      await using store = await under.open()
      const info = await store.put('run-1', 'a.txt', ['one, ', Buffer.from('two')], { by: 'make' })
      const { length, sha256 } = uploadOf(Buffer.from('one, two'))
      const { createdAt, ...rest } = info
      assert.deepEqual(rest, { run: 'run-1', name: 'a.txt', length, sha256, by: 'make' })
      assert.ok(createdAt > 0)
      assert.deepEqual(await store.list('run-1'), [info])
      assert.deepEqual(await store.find('run-1', 'a.txt'), info)
      assert.equal(await read(store, 'a.txt'), 'one, two')
      assert.deepEqual(await store.list('run-2'), [])
      assert.equal(await store.find('run-1', 'b.txt'), undefined)
    },
  },
  {
    title: 'F1: an acknowledged artifact is there for the next process',
    run: async (under) => {
      const first = await under.open()
      await first.put('run-1', 'a', 'old')
      await first.put('run-1', 'b', '')
      await first.put('run-1', 'a', 'new')
      const second = await under.open()
      assert.deepEqual(
        (await second.list('run-1')).map(({ name, length }) => [name, length]),
        [
          ['b', 0],
          ['a', 3],
        ],
      )
      assert.equal(await read(second, 'a'), 'new')
      assert.equal(await read(second, 'b'), '')
    },
  },
  {
    title: 'F1: while an artifact is replaced, readers have the old one, whole',
    run: async (under) => {
      await using store = await under.open()
      const old = 'x'.repeat(2 * pieceBytes + 1)
      await store.put('run-1', 'a', old)
      await using reading = await store.open('run-1', 'a')
      const { promise: isHeld, resolve: release } = Promise.withResolvers<void>()
      const content = async function* (): AsyncGenerator<string> {
        yield 'ne'
        await isHeld
        yield 'w'
      }
      const replacing = store.put('run-1', 'a', content())
      assert.equal(await read(store, 'a'), old)
      release()
      await replacing
      assert.equal(await read(store, 'a'), 'new')
      let bytes = 0
      for await (const piece of reading.bytes) bytes += piece.length
      assert.equal(bytes, old.length)
    },
  },
  {
    title: 'F2: only the piece of work that wrote a name replaces it',
    run: async (under) => {
      await using store = await under.open()
      await store.put('run-1', 'a', '1', { by: 'one' })
      await assert.rejects(store.put('run-1', 'a', '2', { by: 'two' }), {
        code: 'HDL_ARTIFACT_TAKEN',
      })
      await store.put('run-1', 'a', '3', { by: 'one' })
      await store.put('run-2', 'a', '4', { by: 'two' })
      const both = await Promise.allSettled([
        store.put('run-1', 'b', '1', { by: 'one' }),
        store.put('run-1', 'b', '2', { by: 'two' }),
      ])
      assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
      assert.equal(await read(store, 'a'), '3')
    },
  },
  {
    title: 'F3: a quota of bytes holds over all artifacts of a run, and failed ones free theirs',
    run: async (under) => {
      await using store = await under.open({ bytes: 10 })
      await store.put('run-1', 'a', 'x'.repeat(6))
      const full = { code: 'HDL_ARTIFACT_QUOTA' }
      await assert.rejects(store.put('run-1', 'b', ['xxx', 'xx']), full)
      await assert.rejects(store.put('run-1', 'b', cutAfter('xxx')), cut)
      await assert.rejects(store.put('run-1', 'b', 'x'.repeat(5), { length: 5 }), full)
      await store.put('run-1', 'b', 'xxxx')
      await assert.rejects(store.put('run-1', 'c', 'x'), full)
      await store.put('run-2', 'c', 'x'.repeat(10))
      await store.put('run-1', 'c', 'x', { quota: { bytes: 11 } })
      assert.equal((await store.list('run-1')).length, 3)
    },
  },
  {
    title: 'F3: a quota of bytes holds while several artifacts are written',
    run: async (under) => {
      await using store = await under.open({ bytes: 10 })
      const names = ['a', 'b', 'c', 'd']
      const put = (name: string): Promise<unknown> => store.put('run-1', name, ['xx', 'xx'])
      await Promise.allSettled(names.map(put))
      const listed = await store.list('run-1')
      assert.ok(listed.length <= 2, `${listed.length} of 4 bytes are within 10`)
      // The refused names are free again.
      for (const name of names.slice(0, 2)) {
        if (!listed.some((each) => each.name === name)) await store.put('run-1', name, 'x')
      }
    },
  },
  {
    title: 'F3: an artifact and the one that replaces it count as the larger of the two',
    run: async (under) => {
      await using store = await under.open({ bytes: 10 })
      const full = { code: 'HDL_ARTIFACT_QUOTA' }
      const put = (name: string, length: number): Promise<unknown> =>
        store.put('run-1', name, ['x'.repeat(length)], { length })
      await put('a', 6)
      await put('a', 6)
      await put('a', 10)
      await assert.rejects(store.put('run-1', 'a', ['x'.repeat(10), 'x']), full)
      await assert.rejects(put('a', 11), full)
      assert.equal(await read(store, 'a'), 'x'.repeat(10))
      await put('a', 4)
      await put('b', 6)
      await assert.rejects(put('c', 1), full)
      // While it is being replaced, others have the remaining room.
      const { promise: isCut, resolve: end } = Promise.withResolvers<void>()
      const { promise: isWritten, resolve: written } = Promise.withResolvers<void>()
      await put('b', 3)
      const replacing = store.put(
        'run-1',
        'a',
        (async function* () {
          yield 'x'.repeat(3)
          written()
          await isCut
          yield 'xxx'
        })(),
      )
      await isWritten
      await assert.rejects(put('c', 4), full)
      await put('c', 1)
      end()
      await replacing
      await assert.rejects(put('d', 1), full)
      const sizes = (await store.list('run-1')).map(({ name, length }) => `${name} ${length}`)
      assert.deepEqual(sizes.toSorted(), ['a 6', 'b 3', 'c 1'])
    },
  },
  {
    title: 'F3: a quota of artifacts holds, and replacing one does not count',
    run: async (under) => {
      await using store = await under.open({ count: 2 })
      await store.put('run-1', 'a', '1')
      await store.put('run-1', 'b', '1')
      await assert.rejects(store.put('run-1', 'c', '1'), { code: 'HDL_ARTIFACT_QUOTA' })
      await store.put('run-1', 'a', '2')
      await using later = await under.open({ count: 2 })
      await assert.rejects(later.put('run-1', 'c', '1'), { code: 'HDL_ARTIFACT_QUOTA' })
    },
  },
  {
    title: 'F4: a name is text, not a path; names that look alike are different artifacts',
    run: async (under) => {
      await using store = await under.open()
      const names = [
        '../../a',
        '..',
        '.',
        '/etc/passwd',
        'a/b',
        'a_b',
        'A_B',
        'c:\\d',
        'ü.txt',
        '~',
        'index.jsonl',
      ]
      for (const name of names) await store.put('run-1', name, `this is ${name}`)
      await store.put('../run-1', 'a', 'another run')
      for (const name of names) {
        assert.equal(await read(store, name), Buffer.from(`this is ${name}`).toString('latin1'))
      }
      assert.deepEqual(
        (await store.list('run-1')).map(({ name }) => name),
        names,
      )
      assert.equal(await read(store, 'a', {}, '../run-1'), 'another run')
      for (const name of ['', 'a\0b', 'a\nb', 'x'.repeat(201), '\ud800', 5 as never]) {
        await assert.rejects(store.put('run-1', name, ''), { code: 'HDL_BAD_OPTION' })
      }
    },
  },
  {
    title: 'F5: a range of bytes is read, and one outside of the artifact is refused',
    run: async (under) => {
      await using store = await under.open()
      await store.put('run-1', 'a', ['012', '345', '678', '9'])
      assert.equal(await read(store, 'a', { start: 2, end: 7 }), '23456')
      assert.equal(await read(store, 'a', { start: 9 }), '9')
      assert.equal(await read(store, 'a', { start: 10 }), '')
      for (const range of [{ start: 11 }, { end: 11 }, { start: 3, end: 2 }, { start: -1 }]) {
        await assert.rejects(store.open('run-1', 'a', range), { code: 'HDL_BAD_OPTION' })
      }
      await assert.rejects(store.open('run-1', 'b'), { code: 'HDL_UNKNOWN_ARTIFACT' })
    },
  },
  {
    title: 'F6: a put whose content fails, or differs from its announcement, leaves nothing behind',
    run: async (under) => {
      await using store = await under.open()
      const { sha256 } = uploadOf(Buffer.from('abc'))
      const wrong = { code: 'HDL_ARTIFACT_MISMATCH' }
      await assert.rejects(store.put('run-1', 'a', cutAfter('ab')), cut)
      await assert.rejects(store.put('run-1', 'a', 'ab', { length: 3 }), wrong)
      await assert.rejects(store.put('run-1', 'a', 'abcd', { length: 3 }), wrong)
      await assert.rejects(store.put('run-1', 'a', 'abd', { sha256 }), wrong)
      await assert.rejects(store.put('run-1', 'a', [5] as never), { code: 'HDL_BAD_OPTION' })
      await assert.rejects(store.put('run-1', 'a', 5 as never), { code: 'HDL_BAD_OPTION' })
      assert.deepEqual(await store.list('run-1'), [])
      await store.put('run-1', 'a', 'abc', { sha256, length: 3 })
      assert.equal(await read(store, 'a'), 'abc')
    },
  },
  {
    title: 'F6: a put is cancelled while its content gives nothing, and closes the content',
    run: async (under) => {
      await using store = await under.open()
      const controller = new AbortController()
      let isClosed = false
      const asked = Promise.withResolvers<void>()
      const content: AsyncIterable<string> = {
        [Symbol.asyncIterator]: () => ({
          next: () => {
            asked.resolve()
            return new Promise(() => {})
          },
          return: async () => {
            isClosed = true
            return { done: true, value: undefined }
          },
        }),
      }
      const { signal } = controller
      const putting = store.put('run-1', 'a', content, { signal })
      await asked.promise
      controller.abort(new Error('not wanted'))
      await assert.rejects(putting, { code: 'HDL_CANCELLED' })
      assert.equal(isClosed, true)
      assert.deepEqual(await store.list('run-1'), [])
      await assert.rejects(store.put('run-1', 'a', 'x', { signal }), { code: 'HDL_CANCELLED' })
    },
  },
  {
    title: 'F6: an upload that was cut resumes after the received bytes, also by another process',
    run: async (under) => {
      const bytes = Buffer.from(Array.from({ length: 2 * pieceBytes + 100 }, (_, i) => i % 251))
      const upload = uploadOf(bytes)
      const first = await under.open()
      const resumable = { ...upload, resumable: true }
      const half = bytes.subarray(0, pieceBytes + 7)
      await assert.rejects(first.put('run-1', 'a', cutAfter(half), resumable), cut)
      assert.equal(await first.received('run-1', 'a', upload), half.length)
      assert.deepEqual(await first.list('run-1'), [])
      const second = await under.open()
      const start = await second.received('run-1', 'a', upload)
      assert.equal(start, half.length)
      assert.equal(await second.received('run-1', 'b', upload), 0)
      await assert.rejects(
        second.put('run-1', 'a', bytes.subarray(start + 9), { ...resumable, start: start + 9 }),
        { code: 'HDL_ARTIFACT_MISMATCH' },
      )
      // A client that has lost track may begin earlier.
      const again = { ...resumable, start: start - 5 }
      const info = await second.put('run-1', 'a', bytes.subarray(start - 5), again)
      assert.equal(info.sha256, upload.sha256)
      assert.equal(await second.received('run-1', 'a', upload), 0)
      assert.equal(await read(second, 'a'), bytes.toString('latin1'))
    },
  },
  {
    title: 'F6: a resumed upload with wrong bytes is refused and forgotten',
    run: async (under) => {
      await using store = await under.open({ bytes: 8 })
      const upload = { ...uploadOf(Buffer.from('abcdef')), resumable: true }
      await assert.rejects(store.put('run-1', 'a', cutAfter('abc'), upload), cut)
      await assert.rejects(store.put('run-1', 'a', 'xyz', { ...upload, start: 3 }), {
        code: 'HDL_ARTIFACT_MISMATCH',
      })
      assert.equal(await store.received('run-1', 'a', upload), 0)
      await store.put('run-1', 'a', 'abcdef', upload)
      assert.equal(await read(store, 'a'), 'abcdef')
    },
  },
  {
    title: 'F6: content that ends too early counts as cut',
    run: async (under) => {
      await using store = await under.open()
      const upload = { ...uploadOf(Buffer.from('abcdef')), resumable: true }
      await assert.rejects(store.put('run-1', 'a', 'ab', upload), { code: 'HDL_ARTIFACT_MISMATCH' })
      assert.equal(await store.received('run-1', 'a', upload), 2)
      await store.put('run-1', 'a', 'cdef', { ...upload, start: 2 })
      assert.equal(await read(store, 'a'), 'abcdef')
    },
  },
  {
    title: 'F6: the same upload is received once at a time',
    run: async (under) => {
      await using store = await under.open()
      const upload = { ...uploadOf(Buffer.from('abc')), resumable: true }
      const { promise, resolve } = Promise.withResolvers<void>()
      const begun = Promise.withResolvers<void>()
      const content = async function* (): AsyncGenerator<string> {
        begun.resolve()
        await promise
        yield 'abc'
      }
      const first = store.put('run-1', 'a', content(), upload)
      await begun.promise
      await assert.rejects(store.put('run-1', 'a', 'abc', upload), { code: 'HDL_ARTIFACT_BUSY' })
      resolve()
      await first
      assert.equal(await read(store, 'a'), 'abc')
    },
  },
  {
    title: 'the artifacts of a run are removed together, with uploads that were cut',
    run: async (under) => {
      await using store = await under.open({ bytes: 11 })
      const upload = { ...uploadOf(Buffer.from('abcdef')), resumable: true }
      await store.put('run-1', 'a', '12345')
      await store.put('run-2', 'a', '1')
      await assert.rejects(store.put('run-1', 'b', cutAfter('abc'), upload), cut)
      assert.ok((await store.remove('run-1')) >= 8)
      assert.deepEqual(await store.list('run-1'), [])
      assert.equal(await store.received('run-1', 'b', upload), 0)
      assert.equal(await store.remove('run-1'), 0)
      await store.put('run-1', 'a', '1234567890')
      const sizes = new Map<string, number>()
      for await (const [run, bytes] of store.sizes()) sizes.set(run, bytes)
      assert.deepEqual([...sizes.keys()].toSorted(), ['run-1', 'run-2'])
      assert.ok(sizes.get('run-1')! >= 10)
    },
  },
]

/** Registers the tests that every store of artifacts must pass, with `node:test`. */
export function artifactStoreConformance(
  name: string,
  make: () => Promise<ArtifactStoreUnderTest>,
): void {
  describe(`artifact store conformance: ${name}`, () => {
    for (const each of cases) {
      test(each.title, async () => {
        await using store = await make()
        await each.run(store)
      })
    }
  })
}
