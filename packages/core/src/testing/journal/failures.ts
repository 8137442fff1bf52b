/** J5, J6, and being used wrongly. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { keepAlive } from '../../kernel/keep-alive.ts'
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

/** Text that cannot be made shorter. */
function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

export const failureCases: readonly ConformanceCase[] = [
  {
    title: 'J5: several journals write to one store, each its own runs',
    needs: ['lasting', 'shared'],
    async run(store) {
      await using journal = await store.open()
      await using other = await store.open()
      const [one, two] = await Promise.all([openRun(journal, 'one'), openRun(other, 'two')])
      for (let attempt = 0; attempt < 20; attempt++) {
        await Promise.all([
          one.commit(step('a', 'running', { attempt })),
          two.commit(step('a', 'running', { attempt })),
        ])
      }
      const expected = ['nodes a', 'run running', ...Array.from({ length: 20 }, () => 'a running')]
      for (const reader of [journal, other]) {
        assert.deepEqual(await story(reader, 'one'), expected)
        assert.deepEqual(await story(reader, 'two'), expected)
        assert.deepEqual(
          (await reader.runs()).map(({ state }) => state),
          ['running', 'running'],
        )
      }
      // After one process has left it, the other may take it.
      await one[Symbol.asyncDispose]()
      const taken = await other.resumeRun('one', someone)
      await taken.commit(step('a', 'succeeded'), 1)
      assert.equal(await journal.valueOf('one', 'a'), 1)
    },
  },
  {
    title: 'J5: one writer for each run; a second is refused with its name, readers are not',
    needs: ['lasting', 'shared'],
    async run(store) {
      await using journal = await store.open()
      await using other = await store.open()
      const writer = await openRun(journal, 'r')
      const refused = (error: Error & { code?: string }): boolean => {
        assert.equal(error.code, 'HDL_LOCKED')
        assert.match(error.message, new RegExp(`pid ${someone.pid} `))
        return true
      }
      await assert.rejects(other.resumeRun('r', someone), refused)
      await assert.rejects(openRun(other, 'r'), withCode('HDL_RUN_EXISTS'))
      await using reader = await store.open({ readOnly: true })
      await writer.commit(step('a', 'ready'))
      assert.equal((await story(reader, 'r')).at(-1), 'a ready')
      assert.equal((await reader.snapshot('r')).state, 'running')
      // Looking whether a process writes it does not free it.
      await assert.rejects(other.resumeRun('r', someone), refused)
      await assert.rejects(openRun(reader, 'x'), withCode('HDL_BAD_OPTION'))
      await assert.rejects(reader.resumeRun('r', someone), withCode('HDL_BAD_OPTION'))
      await journal.stop()
      const both = [other.resumeRun('r', someone), other.resumeRun('r', someone)]
      const outcomes = await Promise.allSettled(both)
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected'],
      )
    },
  },
  {
    title: 'J8: a key belongs to one run; if two calls start it at once, one opens the run',
    async run(store) {
      await using journal = await store.open()
      const start = (id: string): Promise<unknown> =>
        journal.openRun({ ...header(id), key: 'nightly' })
      const outcomes = await Promise.allSettled([start('one'), start('two')])
      const lost = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
      assert.equal(lost.length, 1)
      assert.ok(withCode('HDL_KEY_TAKEN')(lost[0]))
      const [run, ...others] = await journal.runs({ key: 'nightly' })
      assert.deepEqual(others, [])
      assert.equal(run?.key, 'nightly')
      assert.equal((lost[0] as { details: { run: string } }).details.run, run.id)
      assert.equal((await journal.snapshot(run.id)).key, 'nightly')
      await assert.rejects(start('three'), withCode('HDL_KEY_TAKEN'))
      await openRun(journal, 'without')
      assert.equal((await journal.snapshot('without')).key, undefined)
      assert.equal((await journal.runs()).length, 2)
      assert.deepEqual(await journal.runs({ key: 'other' }), [])
      await assert.rejects(journal.openRun({ ...header('x'), key: '' }), withCode('HDL_BAD_OPTION'))
    },
  },
  {
    title:
      'J6: a failed write is tried again; until then nothing is acknowledged, and no row is left out',
    needs: ['lasting', 'breakable', 'retry'],
    async run(store) {
      await using journal = await store.open({ retry: { for: 60_000, every: 5 } })
      const writer = await openRun(journal, 'r')
      const troubles: string[] = []
      const begun = Promise.withResolvers<void>()
      const over = Promise.withResolvers<void>()
      writer.watch({
        onTrouble: (trouble) => {
          troubles.push(trouble === undefined ? 'over' : String(trouble.isFinal))
          ;(trouble === undefined ? over : begun).resolve()
        },
      })
      await store.breakWrites!()
      let acknowledged = 0
      const large = 'x'.repeat(200_000)
      const commits = [
        writer.commit(step('a', 'running')),
        writer.commit(step('a', 'succeeded'), large),
        writer.commit(step('b', 'succeeded'), 1),
      ].map((each) => each.then(() => acknowledged++))
      await begun.promise
      writer.append(step('c', 'ready'))
      assert.equal(acknowledged, 0)
      assert.deepEqual(await story(journal, 'r'), ['nodes a', 'run running'])
      assert.equal(journal.stats().failed, false)
      await store.repairWrites!()
      await Promise.all(commits)
      await over.promise
      await writer.commit(step('c', 'running'))
      assert.deepEqual(await story(journal, 'r'), [
        'nodes a',
        'run running',
        'a running',
        'a succeeded',
        'b succeeded',
        'c ready',
        'c running',
      ])
      assert.deepEqual(troubles, ['false', 'over'])
      assert.equal(await journal.valueOf('r', 'a'), large)
    },
  },
  {
    title: 'J6: a failed write that is given up is reported to watchers',
    needs: ['lasting', 'breakable'],
    async run(store) {
      const journal = await store.open()
      const writer = await openRun(journal, 'r')
      const final = Promise.withResolvers<boolean | undefined>()
      writer.watch({ onTrouble: (trouble) => final.resolve(trouble?.isFinal) })
      await store.breakWrites!()
      writer.append(step('a', 'ready'))
      assert.equal(await final.promise, true)
      await assert.rejects(writer.flush(), withCode('HDL_STORE_FAILED'))
      await journal.stop()
      await store.repairWrites!()
    },
  },
  {
    title: 'J9: a message reaches the writer of a run once, and is gone when the run is resumed',
    needs: ['post'],
    async run(store) {
      await using journal = await store.open()
      await using sender = store.isShared === true ? await store.open() : journal
      const writer = await openRun(journal, 'r')
      const received: string[] = []
      const arrived = Promise.withResolvers<void>()
      writer.watch({
        onMessage: ({ kind, by }) => {
          received.push(`${kind} by ${by}`)
          writer.setState('draining', 5)
          arrived.resolve()
        },
      })
      await sender.post!('r', { kind: 'cancel', by: 'a test' })
      {
        // A journal that only listens keeps no process alive; in a program the run does.
        using _ = keepAlive()
        await arrived.promise
      }
      await writer.commit(step('a', 'cancelled'))
      assert.deepEqual(received, ['cancel by a test'])
      assert.deepEqual((await story(journal, 'r')).slice(2), ['run draining', 'a cancelled'])
      await writer[Symbol.asyncDispose]()
      const again = await sender.resumeRun('r', someone)
      again.watch({ onMessage: () => received.push('again') })
      await again.commit(step('a', 'running'))
      again.setState('cancelled', 6)
      await again[Symbol.asyncDispose]()
      assert.equal(received.length, 1)
      await assert.rejects(
        journal.post!('nobody', { kind: 'cancel', by: 'x' }),
        withCode('HDL_UNKNOWN_RUN'),
      )
      await assert.rejects(
        journal.post!('r', { kind: 'cancel', by: 'x' }),
        withCode('HDL_RUN_ENDED'),
      )
    },
  },
  {
    title: 'a name that no index can hold is refused for its run alone',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'other')
      const long = Array.from({ length: 80 }, (_, n) => sha256(String(n))).join('')
      const refused = withCode('HDL_BAD_OPTION')
      await assert.rejects(openRun(journal, long), refused)
      await assert.rejects(openRun(journal, 'r', long), refused)
      assert.throws(() => writer.addNodes([node(long)]), refused)
      await writer.commit(step('a', 'succeeded'), 1)
      const runs = await journal.runs()
      assert.deepEqual(
        runs.map(({ id }) => id),
        ['other'],
      )
    },
  },
  {
    title:
      'J6: a failed write is reported to every caller that waits for it, and nothing is written after it',
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
    title: 'J6: a failure that no caller has seen is reported by close()',
    needs: ['lasting', 'breakable'],
    async run(store) {
      const journal = await store.open()
      const writer = await openRun(journal, 'r')
      await store.breakWrites!()
      writer.append(step('a', 'ready'))
      await assert.rejects(journal.stop(), withCode('HDL_STORE_FAILED'))
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
      await Promise.all([journal.stop(), journal.stop()])
      await journal[Symbol.asyncDispose]()
      assert.throws(() => left.append(step('a', 'ready')), closed)
      assert.equal(left.log({ node: 'a', attempt: 0, at: 1, text: 'x' }), false)
      await assert.rejects(openRun(journal, 'late'), closed)
    },
  },
  {
    title: 'a wait can be aborted without side effects',
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
