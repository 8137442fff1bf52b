/** J7, and the results, log lines and errors of nodes. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { all, openRun, step, story, withCode, type ConformanceCase } from './case.ts'

class Point {
  readonly x = 1
}

const plain: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  null: null,
  numbers: [0, -0, 1.5, Number.NaN, -Infinity, 2 ** 53],
  text: ['', 'ü', '🪡', '\ud800', '"quoted"', 'a\0b'],
  bigint: [0n, -(2n ** 70n)],
  dates: [new Date(0), new Date(8.64e15)],
  maps: new Map<unknown, unknown>([[{ key: 1 }, new Set([1, 'two'])]]),
  bytes: { a: new Uint8Array([1, 2, 3]), b: new Float64Array([0.1]), c: new ArrayBuffer(5) },
  holes: Object.assign([], { 2: 'here' }),
  proto: JSON.parse('{"__proto__": 1, "constructor": 2}'),
  'much text': 'loom '.repeat(40_000),
  'many bytes': new Uint8Array(300_000).fill(7),
  'just under the limit': 'x'.repeat(64 * 1024 - 20),
  'just over the limit': 'x'.repeat(64 * 1024 + 20),
}

const refused: Readonly<Record<string, unknown>> = {
  function: () => 1,
  'deep function': { list: [1, { work: () => 1 }] },
  symbol: Symbol('s'),
  instance: new Point(),
  promise: Promise.resolve(1),
  'late function': [...Array.from({ length: 50_000 }, (_, i) => ({ i })), () => 1],
}

export const valueCases: readonly ConformanceCase[] = [
  {
    title: 'results are read back unchanged, whatever plain data they are',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', ...Object.keys(plain))
      for (const [name, value] of Object.entries(plain)) {
        await writer.commit(step(name, 'succeeded'), value)
      }
      for (const [name, value] of Object.entries(plain)) {
        assert.ok(isDeepStrictEqual(await journal.valueOf('r', name), value), name)
      }
      const { nodes } = await journal.snapshot('r')
      assert.ok(nodes.every(({ hasValue }) => hasValue))
    },
  },
  {
    title: 'results survive the process',
    needs: ['lasting'],
    async run(store) {
      {
        await using journal = await store.open()
        const writer = await openRun(journal, 'r', ...Object.keys(plain))
        const entries = Object.entries(plain)
        await Promise.all(entries.map(([n, value]) => writer.commit(step(n, 'succeeded'), value)))
      }
      await using journal = await store.open({ readOnly: true })
      for (const [name, value] of Object.entries(plain)) {
        assert.ok(isDeepStrictEqual(await journal.valueOf('r', name), value), name)
      }
    },
  },
  {
    title: 'a result that is not plain data is refused, and nothing else is harmed',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a')
      for (const [name, value] of Object.entries(refused)) {
        const before = writer.commit(step(`before ${name}`, 'succeeded'), 1)
        const bad = writer.commit(step(name, 'succeeded'), value)
        const after = writer.commit(step(`after ${name}`, 'succeeded'), 2)
        await assert.rejects(bad, withCode('HDL_NOT_CLONEABLE'), name)
        await Promise.all([before, after])
        await assert.rejects(journal.valueOf('r', name), withCode('HDL_NO_RESULT'))
        assert.equal(await journal.valueOf('r', `after ${name}`), 2)
      }
      const rows = await story(journal, 'r', 2)
      assert.equal(rows.length, 2 * Object.keys(refused).length)
      assert.equal(journal.stats().failed, false)
      assert.equal(journal.stats().pending, 0)
    },
  },
  {
    title: 'J7: a large result is not encoded in one go',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a')
      let reads = 0
      const last = {
        get marker(): string {
          reads++
          return 'the end'
        },
      }
      const value = [...Array.from({ length: 100_000 }, (_, index) => ({ index })), last]
      const committed = writer.commit(step('a', 'succeeded'), value)
      assert.equal(reads, 0, 'the end was read before commit() returned')
      await committed
      assert.ok(reads > 0, 'the end was never read')
      const read = (await journal.valueOf('r', 'a')) as unknown[]
      assert.equal(read.length, 100_001)
      assert.deepEqual(read.at(-1), { marker: 'the end' })
    },
  },
  {
    title: 'J10: the guard of a success is closed before it is written, and can drop it',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a', 'b', 'c', 'd')
      const large = Array.from({ length: 100_000 }, (_, index) => ({ index }))
      for (const value of [undefined, 7, 'x'.repeat(200_000), large]) {
        let closed = 0
        const accepting = { cancelled: false, close: () => ++closed > 0 }
        await writer.commit(step('a', 'succeeded'), value, accepting)
        assert.equal(closed, 1, 'the guard was not closed once')
        const refusing = { cancelled: false, close: () => false }
        const dropped = writer.commit(step('b', 'succeeded'), value, refusing)
        await assert.rejects(dropped, withCode('HDL_CANCELLED'))
      }
      const cancelled = { cancelled: true, close: () => assert.fail('closed after the abort') }
      const dropped = writer.commit(step('c', 'succeeded'), large, cancelled)
      writer.append(step('d', 'failed'))
      await assert.rejects(dropped, withCode('HDL_CANCELLED'))
      await writer.flush()
      const rows = await story(journal, 'r', 2)
      assert.equal(rows.length, 5, 'a commit that was dropped has a row')
      for (const node of ['b', 'c']) {
        await assert.rejects(journal.valueOf('r', node), withCode('HDL_NO_RESULT'))
      }
      assert.equal(journal.stats().failed, false)
      assert.equal(journal.stats().pending, 0)
    },
  },
  {
    title: 'only a success has a result, and only the last one counts',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a', 'b')
      await writer.commit(step('a', 'failed'), 'not a result')
      await assert.rejects(journal.valueOf('r', 'a'), withCode('HDL_NO_RESULT'))
      await assert.rejects(journal.valueOf('r', 'b'), withCode('HDL_NO_RESULT'))
      await assert.rejects(journal.valueOf('r', 'nobody'), withCode('HDL_NO_RESULT'))
      await assert.rejects(journal.valueOf('none', 'a'), withCode('HDL_UNKNOWN_RUN'))
      await writer.commit(step('a', 'succeeded'), 'first')
      assert.equal(await journal.valueOf('r', 'a'), 'first')
      await writer.commit(step('a', 'succeeded'), 'second')
      assert.equal(await journal.valueOf('r', 'a'), 'second')
    },
  },
  {
    title: 'all results, in the order of the successes',
    async run(store) {
      await using journal = await store.open()
      const names = Object.keys(plain)
      const writer = await openRun(journal, 'r', ...names)
      assert.deepEqual(await Array.fromAsync(journal.results('r')), [])
      await writer.commit(step('text', 'succeeded'), 'an earlier one')
      for (const [name, value] of Object.entries(plain)) {
        await writer.commit(step(name, 'succeeded'), value)
      }
      writer.append(step('null', 'failed'))
      await writer.flush()
      const other = await openRun(journal, 'other', 'a')
      await other.commit(step('a', 'succeeded'), 'of another run')

      const [earlier, ...rest] = await Array.fromAsync(journal.results('r'))
      assert.deepEqual(earlier, ['text', 'an earlier one'])
      assert.ok(
        isDeepStrictEqual(rest, Object.entries(plain)),
        'all results, in the order of their rows',
      )
      await assert.rejects(Array.fromAsync(journal.results('none')), withCode('HDL_UNKNOWN_RUN'))
    },
  },
  {
    title:
      'values are copied when they are handed in: later changes by the caller are not recorded',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a')
      const transition = { ...step('a', 'succeeded'), attempt: 1 }
      const value = { list: [1] }
      await writer.commit(transition, value)
      transition.attempt = 9
      value.list.push(2)
      assert.deepEqual(await journal.valueOf('r', 'a'), { list: [1] })
      const [row] = (await all(journal.history('r'))).slice(-1)
      assert.equal(row?.kind === 'node' && row.attempt, 1)
    },
  },
  {
    title: 'logs: lines are kept in order, a very long one in pieces, and not after the end',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a')
      const long = '🪡'.repeat(100_000)
      for (const text of ['one', '', 'two\nlines', long]) {
        assert.equal(writer.log({ node: 'a', attempt: 3, at: 9, text }), true)
      }
      writer.setState('finished', 10)
      assert.equal(writer.log({ node: 'a', attempt: 3, at: 11, text: 'too late' }), false)
      await writer.flush()
      const lines = (await all(journal.history('r'))).filter((row) => row.kind === 'log')
      assert.deepEqual(
        lines.slice(0, 3).map(({ text }) => text),
        ['one', '', 'two\nlines'],
      )
      const pieces = lines.slice(3).map(({ text }) => text)
      assert.equal(pieces.join(''), long)
      assert.ok(pieces.every((piece) => piece.isWellFormed()))
      assert.deepEqual([lines[0]!.node, lines[0]!.attempt, lines[0]!.at], ['a', 3, 9])
    },
  },
  {
    title: 'errors: very long messages are cut, chains of causes end',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a')
      const error: { name: string; message: string; cause?: unknown } = {
        name: 'Error',
        message: 'm'.repeat(10_000_000),
      }
      error.cause = error
      await writer.commit(step('a', 'failed', { error: error as never }))
      const [found] = (await journal.snapshot('r')).nodes[0]!.errors
      assert.ok(found!.message.length < 100_000)
      assert.match(found!.message, /^m+… \(\d+ more characters\)$/)
    },
  },
]
