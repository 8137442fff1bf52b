/** J5, J6, and being used wrongly. */
import assert from 'node:assert/strict'
import {
  header,
  node,
  openRun,
  someone,
  step,
  story,
  withCode,
  type ConformanceCase,
} from './case.ts'

export const failureCases: readonly ConformanceCase[] = [
  {
    title: 'J5: one writer; a second is refused with its name, readers are not',
    needs: ['lasting'],
    async run(store) {
      {
        await using journal = await store.open()
        const writer = await openRun(journal, 'r')
        await assert.rejects(store.open(), (error: Error & { code?: string }) => {
          assert.equal(error.code, 'HDL_LOCKED')
          assert.match(error.message, new RegExp(`pid ${process.pid} `))
          return true
        })
        await using reader = await store.open({ readOnly: true })
        await using another = await store.open({ readOnly: true })
        await writer.commit(step('a', 'ready'))
        assert.equal((await story(reader, 'r')).at(-1), 'a ready')
        assert.equal((await story(another, 'r')).at(-1), 'a ready')
        // Looking whether somebody writes does not free the lock.
        assert.equal((await reader.snapshot('r')).state, 'running')
        await assert.rejects(store.open(), withCode('HDL_LOCKED'))
        await assert.rejects(openRun(reader, 'x'), withCode('HDL_BAD_OPTION'))
        await assert.rejects(reader.resumeRun('r', someone), withCode('HDL_BAD_OPTION'))
      }
      await using journal = await store.open()
      await openRun(journal, 'next')
    },
  },
  {
    title: 'J6: a failed write is told to all who wait for it, and nothing is written after it',
    needs: ['lasting', 'breakable'],
    async run(store) {
      {
        await using journal = await store.open()
        const writer = await openRun(journal, 'r')
        const other = await openRun(journal, 'other')
        await writer.commit(step('a', 'ready'))
        await store.breakWrites!()
        const large = 'x'.repeat(200_000)
        const waiting = [
          writer.commit(step('a', 'running')),
          writer.commit(step('a', 'succeeded'), 1),
          writer.commit(step('b', 'succeeded'), large),
          other.commit(step('a', 'running')),
          writer.flush(),
        ]
        for (const each of await Promise.allSettled(waiting)) {
          assert.equal(each.status, 'rejected')
          assert.ok(withCode('HDL_STORE_FAILED')(each.reason))
        }
        assert.equal(journal.stats().failed, true)
        assert.equal(journal.stats().pending, 0)
        await store.repairWrites!()
        writer.append(step('a', 'failed'))
        const failed = withCode('HDL_STORE_FAILED')
        await assert.rejects(writer.commit(step('a', 'failed')), failed)
        await assert.rejects(writer.flush(), failed)
        await assert.rejects(other.flush(), failed)
        await assert.rejects(openRun(journal, 'late'), failed)
        await assert.rejects(journal.resumeRun('nobody', someone), withCode('HDL_UNKNOWN_RUN'))
        assert.deepEqual(await story(journal, 'r'), ['nodes a', 'run running', 'a ready'])
      }
      await using journal = await store.open()
      assert.deepEqual(await story(journal, 'r'), ['nodes a', 'run running', 'a ready'])
      await assert.rejects(journal.snapshot('late'), withCode('HDL_UNKNOWN_RUN'))
      const writer = await journal.resumeRun('r', someone)
      await writer.commit(step('a', 'running'))
      assert.equal((await story(journal, 'r')).at(-1), 'a running')
    },
  },
  {
    title: 'J6: a failure that nobody was told of is told by close()',
    needs: ['lasting', 'breakable'],
    async run(store) {
      const journal = await store.open()
      const writer = await openRun(journal, 'r')
      await store.breakWrites!()
      writer.append(step('a', 'ready'))
      await assert.rejects(journal.close(), withCode('HDL_STORE_FAILED'))
      await store.repairWrites!()
      await using again = await store.open()
      assert.deepEqual(await story(again, 'r'), ['nodes a', 'run running'])
    },
  },
  {
    title: 'S81 what cannot be a run is refused before anything is written',
    async run(store) {
      await using journal = await store.open()
      const bad: readonly unknown[] = [
        { ...header('x'), id: '' },
        { ...header('x'), id: 5 },
        { ...header('x'), title: null },
        { ...header('x'), startedAt: '1000' },
        { ...header('x'), pid: undefined },
        { ...header('x'), nodes: null },
        { ...header('x'), nodes: [1] },
        { ...header('x'), nodes: [{ ...node('a'), after: 'b' }] },
        { ...header('x'), nodes: [{ ...node('a'), name: '' }] },
      ]
      for (const each of bad) {
        await assert.rejects(journal.openRun(each as never), withCode('HDL_BAD_OPTION'))
      }
      const options = { work: () => 1 }
      await assert.rejects(
        journal.openRun({ ...header('x'), options }),
        withCode('HDL_NOT_CLONEABLE'),
      )
      assert.deepEqual(await journal.runs(), [])
      const writer = await openRun(journal, 'x')
      assert.throws(() => writer.append(step('a', 'done' as never)), withCode('HDL_BAD_OPTION'))
      assert.throws(() => writer.setState('done' as never, 1), withCode('HDL_BAD_OPTION'))
      for (const wrong of [
        { at: Number.NaN },
        { attempt: 1.5 },
        { node: '' },
        { node: '\ud800' },
      ]) {
        assert.throws(() => writer.append(step('a', 'ready', wrong)), withCode('HDL_BAD_OPTION'))
        const row = { ...step('a', 'succeeded', wrong) }
        await assert.rejects(writer.commit(row, 'x'.repeat(200_000)), withCode('HDL_BAD_OPTION'))
      }
      assert.throws(() => writer.addNodes([{} as never]), withCode('HDL_BAD_OPTION'))
      await assert.rejects(writer.commit(step('a', 'done' as never)), withCode('HDL_BAD_OPTION'))
      assert.deepEqual(await story(journal, 'x'), ['nodes a', 'run running'])
    },
  },
  {
    title: 'unknown runs are named',
    async run(store) {
      await using journal = await store.open()
      const unknown = withCode('HDL_UNKNOWN_RUN')
      await assert.rejects(journal.snapshot('nobody'), unknown)
      await assert.rejects(story(journal, 'nobody'), unknown)
      await assert.rejects(journal.valueOf('nobody', 'a'), unknown)
      await assert.rejects(journal.resumeRun('nobody', someone), unknown)
    },
  },
  {
    title: 'after the end and after closing nothing can be written; closing twice is harmless',
    async run(store) {
      const journal = await store.open()
      const writer = await openRun(journal, 'r')
      const left = await openRun(journal, 'left')
      writer.setState('finished', 5)
      const ended = withCode('HDL_RUN_ENDED')
      assert.throws(() => writer.append(step('a', 'ready')), ended)
      assert.throws(() => writer.setState('running', 6), ended)
      assert.throws(() => writer.addNodes([node('b')]), ended)
      await assert.rejects(writer.commit(step('a', 'ready')), ended)
      await writer[Symbol.asyncDispose]()
      await writer[Symbol.asyncDispose]()
      const closed = withCode('HDL_CLOSED')
      assert.throws(() => writer.append(step('a', 'ready')), closed)
      await assert.rejects(writer.commit(step('a', 'ready')), closed)
      await Promise.all([journal.close(), journal.close()])
      await journal[Symbol.asyncDispose]()
      assert.throws(() => left.append(step('a', 'ready')), closed)
      assert.equal(left.log({ node: 'a', attempt: 0, at: 1, text: 'x' }), false)
      await assert.rejects(openRun(journal, 'late'), closed)
    },
  },
  {
    title: 'waits can be given up without harm',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r')
      writer.append(step('a', 'ready'))
      await writer.flush({ deadline: 60_000 })
      await writer.waitRoom({ deadline: 60_000 })
      writer.append(step('a', 'running'))
      const aborted = AbortSignal.abort(new Error('no time'))
      await assert.rejects(writer.flush({ signal: aborted }), withCode('HDL_CANCELLED'))
      await writer.flush()
      assert.equal((await story(journal, 'r')).at(-1), 'a running')
    },
  },
]
