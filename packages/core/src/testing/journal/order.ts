/** J1, J2, J3: rows, their order, and when they are there. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { HistoryEntry } from '../../journal/journal.ts'
import { all, header, node, openRun, step, story, withCode, type ConformanceCase } from './case.ts'

export const orderCases: readonly ConformanceCase[] = [
  {
    title: 'J1: rows of all kinds are read in the order in which they were handed in',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a', 'b')
      writer.append(step('a', 'ready'))
      writer.log({ node: 'a', attempt: 0, at: 1, text: 'hello' })
      writer.addNodes([node('c', 'a'), node('d')])
      writer.setState('paused', 2)
      writer.append(step('a', 'running'))
      const committed = writer.commit(step('a', 'succeeded'), 1)
      writer.append(step('b', 'ready'))
      writer.setState('finished', 3)
      await committed
      await writer.flush()
      assert.deepEqual(await story(journal, 'r'), [
        'nodes a b',
        'run running',
        'a ready',
        'log a hello',
        'nodes c d',
        'run paused',
        'a running',
        'a succeeded',
        'b ready',
        'run finished',
      ])
    },
  },
  {
    title: 'J1: rows behind a large result keep their places and their values',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a', 'b', 'c')
      const other = await openRun(journal, 'other', 'x')
      const large = Array.from({ length: 60_000 }, (_, index) => ({ index, text: `row ${index}` }))
      const commits = [
        writer.commit(step('a', 'succeeded'), large),
        writer.commit(step('b', 'succeeded'), 'small'),
        writer.commit(step('c', 'succeeded'), large),
      ]
      const late = { ...step('d', 'ready'), node: 'd' }
      writer.append(late)
      late.node = 'changed by its owner'
      assert.throws(() => writer.append(step('e', 'none' as never)), withCode('HDL_BAD_OPTION'))
      writer.setState('finished', 9)
      await other.commit(step('x', 'succeeded'), 'not held up by another run')
      await Promise.all(commits)
      await writer.flush()
      const rows = await story(journal, 'r', 2)
      const expected = ['a succeeded', 'b succeeded', 'c succeeded', 'd ready', 'run finished']
      assert.deepEqual(rows.slice(-5), expected)
      // For large values, Node 22 needs gigabytes to render the difference.
      assert.ok(isDeepStrictEqual(await journal.valueOf('r', 'a'), large), 'the value of a')
      assert.ok(isDeepStrictEqual(await journal.valueOf('r', 'c'), large), 'the value of c')
      assert.equal(await journal.valueOf('r', 'b'), 'small')
    },
  },
  {
    title: 'J1: positions grow along each run',
    async run(store) {
      await using journal = await store.open()
      const [one, two] = [await openRun(journal, 'one'), await openRun(journal, 'two')]
      for (let i = 0; i < 40; i++) {
        const writer = i % 3 === 0 ? one : two
        if (i % 5 === 0) await writer.commit(step('a', 'running', { attempt: i }))
        else writer.append(step('a', 'running', { attempt: i }))
      }
      await Promise.all([one.flush(), two.flush()])
      for (const id of ['one', 'two']) {
        const positions = (await all(journal.history(id))).map(({ position }) => position)
        assert.deepEqual(
          positions,
          [...new Set(positions)].toSorted((a, b) => a - b),
        )
        assert.ok(positions[0]! > 0)
      }
      const attempts = await all(journal.history('two'))
      const order = attempts.flatMap((row) => (row.kind === 'node' ? [row.attempt] : []))
      assert.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
      )
    },
  },
  {
    title: 'J1: a long history is read page by page, from anywhere, and can be left at any row',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r')
      const count = 5000
      for (let i = 0; i < count; i++) writer.append(step('a', 'running', { attempt: i }))
      await writer.flush()
      const rows = await all(journal.history('r'))
      const steps = rows.filter((row) => row.kind === 'node')
      assert.ok(
        steps.every(({ attempt }, index) => attempt === index),
        'rows come in the order in which they were appended',
      )
      assert.equal(steps.length, count)
      const tail = await all(journal.history('r', { from: steps[1999]!.position }))
      assert.equal(tail[0]?.position, steps[2000]!.position)
      assert.equal(tail.length, 3000)
      let seen = 0
      for await (const row of journal.history('r')) {
        assert.ok(row.position > 0)
        if (++seen === 3) break
      }
      assert.deepEqual(await all(journal.history('r', { from: steps.at(-1)!.position })), [])
    },
  },
  {
    title: 'J1: reading a history includes the rows written during the reading, and ends',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r')
      for (let i = 0; i < 2000; i++) writer.append(step('a', 'running', { attempt: i }))
      await writer.flush()
      const seen: HistoryEntry[] = []
      for await (const row of journal.history('r')) {
        if (seen.length < 50) await writer.commit(step('b', 'ready', { attempt: seen.length }))
        seen.push(row)
      }
      const positions = seen.map(({ position }) => position)
      assert.deepEqual(
        positions,
        positions.toSorted((a, b) => a - b),
      )
      assert.equal(new Set(positions).size, positions.length)
      assert.ok(seen.length >= 2000)
    },
  },
  {
    title: 'J2, J3: another reader sees a committed row, and everything before it',
    needs: ['lasting'],
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r')
      for (let i = 0; i < 50; i++) {
        writer.append(step('a', 'ready', { attempt: i }))
        writer.append(step('a', 'running', { attempt: i }))
        await writer.commit(step('a', 'succeeded', { attempt: i }), i)
        if (i % 10 !== 0) continue
        await using reader = await store.open({ readOnly: true })
        const rows = await story(reader, 'r')
        assert.deepEqual(rows.slice(-3), ['a ready', 'a running', 'a succeeded'])
        assert.equal(rows.length, 2 + 3 * (i + 1))
        assert.equal(await reader.valueOf('r', 'a'), i)
      }
    },
  },
  {
    title: 'J3: many commits at once all resolve, in the order of their rows',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r')
      const told: number[] = []
      const count = 3000
      const commits = Array.from({ length: count }, async (_, attempt) => {
        const value = attempt % 7 === 0 ? { attempt } : undefined
        await writer.commit(step('a', attempt % 2 ? 'running' : 'succeeded', { attempt }), value)
        told.push(attempt)
      })
      await Promise.all(commits)
      assert.deepEqual(
        told,
        told.map((_, index) => index),
      )
      const { pending, rows, commits: groups, failed } = journal.stats()
      assert.equal(pending, 0)
      assert.ok(rows >= count)
      assert.ok(groups >= 1)
      assert.equal(failed, false)
    },
  },
  {
    title: 'J3: flush() waits for rows that no caller has committed; close() does so too',
    needs: ['lasting'],
    async run(store) {
      {
        await using journal = await store.open()
        const writer = await openRun(journal, 'r')
        writer.append(step('a', 'ready'))
        await writer.flush()
        assert.deepEqual((await story(journal, 'r')).at(-1), 'a ready')
        writer.append(step('a', 'running'))
        writer.log({ node: 'a', attempt: 0, at: 5, text: 'last words' })
      }
      await using journal = await store.open({ readOnly: true })
      assert.deepEqual((await story(journal, 'r')).slice(-2), ['a running', 'log a last words'])
    },
  },
  {
    title: 'J4: no run id is used twice, not at the same time and not by a later process',
    async run(store) {
      const exists = withCode('HDL_RUN_EXISTS')
      {
        await using journal = await store.open()
        const both = await Promise.allSettled([openRun(journal, 'r'), openRun(journal, 'r')])
        assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
        await assert.rejects(openRun(journal, 'r'), exists)
        assert.equal((await journal.runs()).length, 1)
        if (!store.isLasting) return
      }
      await using again = await store.open()
      await assert.rejects(openRun(again, 'r'), exists)
    },
  },
  {
    title: 'J4: rows do not change when the run continues in another process',
    needs: ['lasting'],
    async run(store) {
      let before: HistoryEntry[]
      {
        await using journal = await store.open()
        const writer = await journal.openRun(header('r', [node('a'), node('b', 'a')]))
        writer.log({ node: 'a', attempt: 0, at: 5, text: 'hm' })
        await writer.commit(step('a', 'succeeded'), { deep: [1, { x: null }] })
        before = await all(journal.history('r'))
      }
      await using journal = await store.open()
      const other = await openRun(journal, 'other')
      const writer = await journal.resumeRun('r', someoneElse)
      await writer.commit(step('b', 'succeeded'), 'done')
      await other.flush()
      const after = await all(journal.history('r'))
      assert.deepEqual(after.slice(0, before.length), before)
      const used = after.map(({ position }) => position)
      assert.deepEqual(
        used,
        [...new Set(used)].toSorted((a, b) => a - b),
      )
      assert.deepEqual(await journal.valueOf('r', 'a'), { deep: [1, { x: null }] })
    },
  },
]

const someoneElse = { pid: 1, host: 'other', command: 'heddle run --resume' }
