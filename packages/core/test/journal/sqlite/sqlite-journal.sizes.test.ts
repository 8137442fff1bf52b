import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Encoder } from '../../../src/codec/encoder.ts'
import { newStore } from './store-folder.ts'

/** Values whose encoding has about this many bytes, by shape. */
const shapes: Readonly<Record<string, (bytes: number) => unknown>> = {
  text: (bytes) => 'x'.repeat(bytes),
  'wide text': (bytes) => '☃'.repeat(Math.ceil(bytes / 3)),
  bytes: (bytes) => new Uint8Array(bytes).fill(7),
  integers: (bytes) => Array.from({ length: bytes }, (_, i) => i & 127),
  doubles: (bytes) => Array.from({ length: Math.ceil(bytes / 9) }, (_, i) => i + 0.5),
  objects: (bytes) =>
    Array.from({ length: Math.ceil(bytes / 10) }, (_, id) => ({ id, name: 'row' })),
  map: (bytes) => new Map(Array.from({ length: Math.ceil(bytes / 5) }, (_, i) => [i, i & 15])),
  'bytes in objects': (bytes) => [
    { head: new Uint8Array(Math.ceil(bytes / 2)) },
    'x'.repeat(bytes / 2),
  ],
}

// 1 B to 1 MiB: as many of them small as large, and most around the sizes where something changes.
const size = fc.oneof(
  fc.double({ min: 0, max: 20, noNaN: true }).map((power) => Math.floor(2 ** power)),
  fc.integer({ min: 16_000, max: 34_000 }),
  fc.integer({ min: 64_000, max: 67_000 }),
)
const one = fc.record({ shape: fc.constantFrom(...Object.keys(shapes)), size })
const step = fc.record({ value: one, companions: fc.array(one, { maxLength: 3 }), rows: fc.nat(2) })

/** Compared instead of the values: a million of them take deepEqual() seconds. */
function bytesOf(value: unknown): Buffer {
  const encoder = new Encoder('x', value, Infinity)
  while (!encoder.step(Infinity)) continue
  return Buffer.concat(encoder.take())
}

const valueOf = (each: { shape: string; size: number }): unknown => shapes[each.shape]!(each.size)

test('a value of any size and shape is stored, alone in its batch or with others', async () => {
  await using store = await newStore('process')
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 3 }), async (steps) => {
      await using journal = await store.open()
      const id = `run ${++runs}`
      const header = { title: 't', startedAt: 1, pid: 1, host: 'h', command: 'c' }
      const writer = await journal.openRun({ id, ...header, options: {}, nodes: [] })
      const expected = new Map<string, unknown>()
      for (const [index, { value, companions, rows }] of steps.entries()) {
        const commits: Promise<void>[] = []
        for (let row = 0; row < rows; row++) {
          writer.append({ node: `${index}`, state: 'running', attempt: row, at: 1 })
        }
        for (const [number, each] of [value, ...companions].entries()) {
          const node = `${index}.${number}`
          expected.set(node, valueOf(each))
          const row = { node, state: 'succeeded', attempt: 0, at: 1 } as const
          commits.push(writer.commit(row, expected.get(node)))
        }
        await Promise.all(commits)
      }
      const stored = new Map(await Array.fromAsync(journal.results(id)))
      for (const [node, value] of expected) {
        assert.ok(bytesOf(stored.get(node)).equals(bytesOf(value)), node)
      }
    }),
    { numRuns: 25 },
  )
})

test('a run whose header has options of any size is opened', async () => {
  await using store = await newStore('process')
  await using journal = await store.open()
  for (const length of [1, 100, 5000, 20_000, 100_000]) {
    const options = { list: Array.from({ length }, (_, i) => i & 63) }
    const header = { title: 't', startedAt: 1, pid: 1, host: 'h', command: 'c', nodes: [] }
    await journal.openRun({ id: `run ${length}`, ...header, options })
    assert.deepEqual((await journal.snapshot(`run ${length}`)).options, options)
  }
})
