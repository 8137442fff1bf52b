/** How runs stand: states, counts, resuming, time travel. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { NodeState } from '../../scheduler/node.ts'
import { seededRandom } from '../../kernel/random.ts'
import type { HistoryEntry, Journal, RunHeader, RunListOptions } from '../../journal/journal.ts'
import { storedNodeStates } from '../../journal/states.ts'
import {
  all,
  header,
  node,
  openRun,
  someone,
  step,
  withCode,
  type ConformanceCase,
} from './case.ts'

async function stateOf(journal: Journal, id: string): Promise<string | undefined> {
  const listed = (await journal.runs()).find((run) => run.id === id)?.state
  assert.equal((await journal.snapshot(id)).state, listed)
  return listed
}

const someoneElse = { pid: 1, host: 'other', command: 'heddle run --resume' }

export const runCases: readonly ConformanceCase[] = [
  {
    title: 'N1 pages of a list hold every run once, newest first, by outcome, by text and by label',
    async run(store) {
      await using journal = await store.open()
      const ends = ['succeeded', 'failed', 'skipped', undefined] as const
      for (let number = 0; number < 8; number++) {
        const id = `r${number}`
        const end = ends[number % 4]
        const options = { labels: { graph: `graph ${number}`, other: 5 } }
        const writer = await journal.openRun({ ...header(id), title: `Title ${number}`, options })
        if (end === undefined) continue
        if (end === 'succeeded') await writer.commit(step('a', end), 1)
        else writer.append(step('a', end))
        writer.setState('finished', 5000)
        await writer.flush()
      }
      const names = async (options: Omit<RunListOptions, 'limit'>): Promise<string[]> => {
        const found: string[] = []
        for (let before: number | undefined; ;) {
          const page = await journal.list({ ...options, limit: 3, ...(before && { before }) })
          assert.ok(page.runs.length <= 3)
          found.push(...page.runs.map(({ id }) => id))
          if (page.next === undefined) return found
          before = page.next
        }
      }
      assert.deepEqual(await names({}), ['r7', 'r6', 'r5', 'r4', 'r3', 'r2', 'r1', 'r0'])
      assert.deepEqual(await names({ outcomes: ['failed'] }), ['r5', 'r1'])
      assert.deepEqual(await names({ outcomes: ['succeeded'] }), ['r6', 'r4', 'r2', 'r0'])
      assert.deepEqual(await names({ outcomes: ['running', 'paused'] }), ['r7', 'r3'])
      assert.deepEqual(await names({ outcomes: ['cancelled'] }), [])
      assert.deepEqual(await names({ text: 'TITLE 4' }), ['r4'])
      assert.deepEqual(await names({ text: '%' }), [])
      assert.deepEqual(await names({ labels: { graph: 'graph 4' } }), ['r4'])
      assert.deepEqual(await names({ labels: { graph: 'graph 4' }, outcomes: ['failed'] }), [])
      assert.deepEqual(await names({ labels: { graph: undefined } }), [])
      assert.equal((await names({ labels: { tenant: undefined } })).length, 8)
      const [newest] = (await journal.list({ limit: 1 })).runs
      assert.deepEqual(newest?.labels, { graph: 'graph 7' })
      assert.deepEqual(newest?.counts, { waiting: 1 })
      const short = await journal.list({ limit: 5, text: 'title 0', most: 2 })
      assert.equal(short.runs.length, 0)
      assert.notEqual(short.next, undefined)
      assert.deepEqual(await journal.tally(), { succeeded: 4, failed: 2, running: 2 })
    },
  },
  {
    title: 'N2 an overview is a run without its nodes, with its first and last row',
    async run(store) {
      await using journal = await store.open()
      const writer = await journal.openRun({ ...header('r'), options: { concurrency: 3 } })
      await writer.commit(step('a', 'succeeded'), 1)
      const positions = (await all(journal.history('r'))).map(({ position }) => position)
      const { state, options, rows, title } = await journal.overview('r')
      assert.deepEqual(
        { state, options, title },
        {
          state: 'running',
          options: { concurrency: 3 },
          title: 'title of r',
        },
      )
      assert.deepEqual(rows, [positions[0], positions.at(-1)])
      await assert.rejects(journal.overview('other'), withCode('HDL_UNKNOWN_RUN'))
    },
  },
  {
    title: 'S80 a run is read as it was written, with every state a node can be in',
    async run(store) {
      await using journal = await store.open()
      const options = { concurrency: Infinity, retries: 3, needs: { cpu: 2 }, at: new Date(5) }
      const nodes = [
        { ...node('first'), place: 'thread' as const, input: 'mark' },
        ...storedNodeStates.map((state) => node(`in ${state}`, 'first')),
      ]
      const written: RunHeader = { ...header('r', nodes), options }
      const writer = await journal.openRun(written)
      for (const state of storedNodeStates) {
        await writer.commit(step(`in ${state}`, state, { attempt: 2, at: 77 }), 'value')
      }
      const read = await journal.snapshot('r')
      const { id, title, startedAt, pid, host, command } = read
      assert.deepEqual(
        { id, title, startedAt, pid, host, command, options: read.options },
        { ...someone, id: 'r', title: 'title of r', startedAt: 1000, options },
      )
      assert.equal(read.state, 'running')
      assert.deepEqual(
        read.nodes.map(({ name, job, place, after, input }) => ({
          name,
          job,
          place,
          after,
          ...(input !== undefined && { input }),
        })),
        nodes,
      )
      for (const state of storedNodeStates) {
        const found = read.nodes.find(({ name }) => name === `in ${state}`)
        assert.equal(found?.state, state)
        assert.equal(found.attempt, 2)
        assert.equal(found.hasValue, state === 'succeeded')
      }
      const counts = Object.fromEntries(storedNodeStates.map((state) => [state, 1]))
      assert.deepEqual(read.counts, { ...counts, waiting: 2 })
      const [summary] = await journal.runs()
      assert.deepEqual(summary?.counts, read.counts)
    },
  },
  {
    title: 'a run is running, then finished or cancelled, and interrupted when its writer is gone',
    async run(store) {
      await using journal = await store.open()
      const finished = await openRun(journal, 'finished')
      const cancelled = await openRun(journal, 'cancelled')
      const left = await openRun(journal, 'left')
      assert.equal(await stateOf(journal, 'finished'), 'running')
      for (const state of ['paused', 'running', 'draining'] as const) {
        finished.setState(state, 5)
        await finished.flush()
        assert.equal(await stateOf(journal, 'finished'), state)
      }
      finished.setState('finished', 6000)
      cancelled.setState('cancelled', 7000)
      await Promise.all([finished.flush(), cancelled.flush()])
      await left[Symbol.asyncDispose]()
      assert.equal(await stateOf(journal, 'finished'), 'finished')
      assert.equal(await stateOf(journal, 'cancelled'), 'cancelled')
      assert.equal(await stateOf(journal, 'left'), 'interrupted')
      assert.equal((await journal.snapshot('finished')).endedAt, 6000)
      assert.equal((await journal.snapshot('left')).endedAt, undefined)
      await finished[Symbol.asyncDispose]()
      assert.equal(await stateOf(journal, 'finished'), 'finished')
    },
  },
  {
    title: 'the duration of a run is the time in which processes ran it, in lists and in snapshots',
    async run(store) {
      await using journal = await store.open()
      const durations = async (): Promise<readonly unknown[]> => {
        const [listed] = await journal.runs()
        const [paged] = (await journal.list({ limit: 1 })).runs
        const { elapsed } = await journal.overview('r')
        assert.deepEqual([paged?.elapsed, elapsed], [listed?.elapsed, listed?.elapsed])
        return [listed?.elapsed, (await journal.snapshot('r')).elapsed]
      }
      const first = await openRun(journal, 'r')
      first.append(step('a', 'running', { at: 1300 }))
      await first.flush()
      // Up to its last row, and in a list not before its end.
      assert.deepEqual(await durations(), [undefined, 300])
      first.append(step('a', 'failed', { at: 1400 }))
      first.setState('finished', 1450, 449.5)
      await first[Symbol.asyncDispose]()
      assert.deepEqual(await durations(), [449.5, 449.5])
      const second = await journal.resumeRun('r', someoneElse)
      await second.flush()
      assert.deepEqual(await durations(), [undefined, 449.5])
      await second.commit(step('a', 'succeeded', { at: 90_000 }), 1)
      second.setState('finished', 90_100, 600.25)
      await second[Symbol.asyncDispose]()
      assert.deepEqual(await durations(), [600.25, 600.25])
    },
  },
  {
    title: 'a run that was left open is interrupted for the next process that opens the journal',
    needs: ['lasting'],
    async run(store) {
      {
        await using journal = await store.open()
        await openRun(journal, 'r')
        await using reader = await store.open({ readOnly: true })
        assert.equal(await stateOf(reader, 'r'), 'running')
      }
      {
        await using reader = await store.open({ readOnly: true })
        assert.equal(await stateOf(reader, 'r'), 'interrupted')
      }
      await using journal = await store.open()
      assert.equal(await stateOf(journal, 'r'), 'interrupted')
      await journal.resumeRun('r', someoneElse)
      await using reader = await store.open({ readOnly: true })
      assert.equal(await stateOf(reader, 'r'), 'running')
      assert.equal((await reader.snapshot('r')).pid, someoneElse.pid)
    },
  },
  {
    title: 'resuming: interrupted, cancelled and failed nodes run again; succeeded nodes do not',
    async run(store) {
      await using journal = await store.open()
      for (const [id, end] of [
        ['cancelled', 'cancelled'],
        ['failed', 'finished'],
        ['left', undefined],
        ['done', 'finished'],
        ['removed', 'finished'],
      ] as const) {
        await using writer = await openRun(journal, id)
        await writer.commit(step('a', id === 'done' ? 'succeeded' : 'failed'))
        // The node was removed on purpose: nothing is left to do.
        if (id === 'removed') await writer.commit(step('a', 'skipped'))
        if (end !== undefined) writer.setState(end, 5)
      }
      for (const id of ['done', 'removed']) {
        await assert.rejects(journal.resumeRun(id, someoneElse), withCode('HDL_RUN_ENDED'))
      }
      await assert.rejects(journal.resumeRun('nobody', someoneElse), withCode('HDL_UNKNOWN_RUN'))
      for (const id of ['cancelled', 'failed', 'left']) {
        const both = [journal.resumeRun(id, someoneElse), journal.resumeRun(id, someoneElse)]
        const [first, second] = await Promise.allSettled(both)
        assert.ok(first?.status === 'fulfilled' && second?.status === 'rejected')
        assert.ok(withCode('HDL_LOCKED')(second.reason))
        const writer = first.value
        assert.equal(await stateOf(journal, id), 'running')
        await assert.rejects(journal.resumeRun(id, someoneElse), withCode('HDL_LOCKED'))
        const { endedAt, command, startedAt } = await journal.snapshot(id)
        assert.deepEqual([endedAt, command, startedAt], [undefined, someoneElse.command, 1000])
        await writer.commit(step('a', 'succeeded'), 'now')
        writer.setState('finished', 9)
        await writer[Symbol.asyncDispose]()
        await assert.rejects(journal.resumeRun(id, someoneElse), withCode('HDL_RUN_ENDED'))
        const starts = (await all(journal.history(id))).flatMap((row) =>
          row.kind === 'run' && row.by !== undefined ? [row.by.pid] : [],
        )
        assert.deepEqual(starts, [someone.pid, someoneElse.pid])
      }
    },
  },
  {
    title: 'lists of runs: newest first, by state, and no longer than asked for',
    async run(store) {
      await using journal = await store.open()
      for (let i = 0; i < 12; i++) {
        await using writer = await openRun(journal, `r${i}`)
        if (i % 3 === 0) writer.setState('finished', i)
      }
      const ids = async (options?: Parameters<Journal['runs']>[0]): Promise<string[]> =>
        (await journal.runs(options)).map(({ id }) => id)
      assert.deepEqual(
        await ids(),
        Array.from({ length: 12 }, (_, i) => `r${11 - i}`),
      )
      assert.deepEqual(await ids({ limit: 2 }), ['r11', 'r10'])
      assert.deepEqual(await ids({ state: 'finished' }), ['r9', 'r6', 'r3', 'r0'])
      assert.deepEqual(await ids({ state: 'interrupted', limit: 1 }), ['r11'])
      assert.deepEqual(await ids({ state: 'paused' }), [])
      assert.deepEqual(await ids({ limit: 0 }), [])
      await assert.rejects(journal.runs({ limit: -1 }), withCode('HDL_BAD_OPTION'))
    },
  },
  {
    title: 'a key that a store cannot hold is refused: no run gets the key of another one',
    async run(store) {
      await using journal = await store.open()
      const random = seededRandom(1)
      const letters = Array.from({ length: 2_049 }, () =>
        String.fromCharCode(33 + random.next() * 90),
      )
      const longest = letters.slice(1).join('')
      const open = (id: string, key: string) => journal.openRun({ ...header(id), key })
      for (const key of ['', 'x\0', 'x\ud800', '\udc00x', letters.join(''), 'é'.repeat(1_025)]) {
        await assert.rejects(open('refused', key), withCode('HDL_BAD_OPTION'))
        await assert.rejects(journal.runs({ key }), withCode('HDL_BAD_OPTION'))
      }
      const keys = [longest, 'x\ufffd', 'x', '__proto__', 'x\n', '😀'.repeat(512)]
      for (const [index, key] of keys.entries()) {
        await using _writer = await open(`r${index}`, key)
      }
      for (const [index, key] of keys.entries()) {
        const found = await journal.runs({ key })
        assert.deepEqual(
          found.map((run) => [run.id, run.key]),
          [[`r${index}`, key]],
        )
      }
    },
  },
  {
    title: 'pruning removes runs that have ended, by number, age and size, and frees their keys',
    needs: ['prune'],
    async run(store) {
      await using journal = await store.open()
      const large = 'x'.repeat(100_000)
      const write = async (id: string, end: 'finished' | 'cancelled' | undefined, at: number) => {
        await using writer = await journal.openRun({ ...header(id), key: `key of ${id}` })
        await writer.commit(step('a', 'succeeded'), large)
        if (end !== undefined) writer.setState(end, at)
      }
      await write('old', 'finished', 1000)
      await write('left', undefined, 0)
      await write('middle', 'cancelled', 2000)
      await write('new', 'finished', 3000)
      const running = await openRun(journal, 'running')
      const ids = (runs: readonly { readonly id: string }[]): string[] => runs.map(({ id }) => id)
      const everything = ['running', 'new', 'middle', 'left', 'old']
      assert.deepEqual(ids(await journal.runs()), everything)
      for (const [options, expected] of [
        [{ keep: 3 }, ['old']],
        [{ keep: 3, interrupted: true }, ['left', 'old']],
        [{ before: 2500 }, ['middle', 'old']],
        [{ before: 2500, interrupted: true }, ['middle', 'left', 'old']],
        [{ maxBytes: 150_000 }, ['middle', 'old']],
        [{ keep: 0 }, ['new', 'middle', 'old']],
        [{ keep: 4, before: 2500 }, ['middle', 'old']],
        [{ keep: 100 }, []],
      ] as const) {
        const report = await journal.prune!({ ...options, dryRun: true })
        assert.deepEqual(ids(report.runs), expected, JSON.stringify(options))
        assert.equal(report.bytes > 100_000 * expected.length, expected.length > 0)
      }
      assert.deepEqual(ids(await journal.runs()), everything)
      await assert.rejects(
        journal.openRun({ ...header('x'), key: 'key of old' }),
        withCode('HDL_KEY_TAKEN'),
      )
      assert.deepEqual(ids((await journal.prune!({ before: 2500 })).runs), ['middle', 'old'])
      assert.deepEqual(ids(await journal.runs()), ['running', 'new', 'left'])
      await assert.rejects(journal.snapshot('old'), withCode('HDL_UNKNOWN_RUN'))
      assert.equal(await journal.valueOf('new', 'a'), large)
      assert.equal(await journal.valueOf('left', 'a'), large)
      const again = await journal.openRun({ ...header('again'), key: 'key of old' })
      await again.commit(step('a', 'succeeded'), 1)
      await running.commit(step('a', 'succeeded'), 2)
      assert.equal(await journal.valueOf('again', 'a'), 1)
      assert.equal(await journal.valueOf('running', 'a'), 2)
      await assert.rejects(journal.prune!({}), withCode('HDL_BAD_OPTION'))
      await assert.rejects(journal.prune!({ keep: -1 }), withCode('HDL_BAD_OPTION'))
      const signal = AbortSignal.abort(new Error('no time'))
      await assert.rejects(journal.prune!({ keep: 0, signal }), withCode('HDL_CANCELLED'))
    },
  },
  {
    title: 'time travel: a run can be read as it stood after any of its rows',
    async run(store) {
      await using journal = await store.open()
      const names = ['a', 'b', 'c', 'd']
      const writer = await journal.openRun(
        header(
          'r',
          names.map((name) => node(name)),
        ),
      )
      const random = seededRandom(7)
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!
      for (let i = 0; i < 120; i++) {
        if (i % 40 === 39) writer.addNodes([node(`late ${i}`)])
        if (i % 30 === 29) writer.setState(pick(['paused', 'running', 'draining']), i)
        const state = pick(storedNodeStates)
        const error = { name: 'Error', message: `in row ${i}` }
        const failed = state === 'failed' || state === 'retrying'
        writer.append(step(pick(names), state, { attempt: i, at: i, ...(failed && { error }) }))
      }
      await writer.flush()
      const rows = await all(journal.history('r'))
      for (const { position } of rows.filter((_, index) => index % 9 === 0)) {
        const then = await journal.snapshot('r', { upTo: position })
        const past = rows.filter((row) => row.position <= position)
        assert.equal(then.position, position)
        assert.deepEqual(modelOf(past), {
          states: Object.fromEntries(then.nodes.map(({ name, state }) => [name, state])),
          errors: Object.fromEntries(
            then.nodes.map(({ name, errors }) => [name, errors.map(({ message }) => message)]),
          ),
        })
        const counted = Object.values(then.counts).reduce((sum, count) => sum + count, 0)
        assert.equal(counted, then.nodes.length)
      }
      const now = await journal.snapshot('r')
      assert.deepEqual(await journal.snapshot('r', { upTo: rows.at(-1)!.position }), now)
      assert.deepEqual((await journal.runs())[0]?.counts, now.counts)
    },
  },
  {
    title: 'a snapshot knows when a node was ready, started and ended, and all that went wrong',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a', 'b')
      const error = (message: string): NonNullable<Parameters<typeof step>[2]>['error'] => ({
        name: 'TypeError',
        message,
        code: 'E_TEST',
        stack: 'TypeError: at line 1',
        cause: { name: 'Error', message: `why ${message}` },
      })
      writer.append(step('a', 'ready', { at: 1 }))
      writer.append(step('a', 'running', { at: 2 }))
      writer.append(step('a', 'retrying', { at: 3, delay: 40, error: error('first')! }))
      writer.append(step('a', 'ready', { at: 4, attempt: 1 }))
      writer.append(step('a', 'running', { at: 5, attempt: 1 }))
      writer.append(step('a', 'failed', { at: 6, attempt: 1, error: error('second')! }))
      writer.append(step('b', 'blocked', { at: 7, blockedBy: 'a' }))
      await writer.flush()
      const [a, b] = (await journal.snapshot('r')).nodes
      assert.deepEqual(a, {
        ...node('a'),
        state: 'failed',
        attempt: 1,
        readyAt: 4,
        startedAt: 5,
        endedAt: 6,
        errors: [error('first'), error('second')],
        hasValue: false,
      })
      assert.equal(b?.blockedBy, 'a')
      const retrying = (await all(journal.history('r'))).find(
        (row) => row.kind === 'node' && row.state === 'retrying',
      )
      assert.equal(retrying?.kind === 'node' && retrying.delay, 40)
    },
  },
  {
    title: 'J4: the input of an attempt is kept in its row, and a snapshot says in which one',
    async run(store) {
      await using journal = await store.open()
      const writer = await openRun(journal, 'r', 'a', 'b', 'c')
      const text = JSON.stringify({ text: '\0 \ud800 é "quoted"' })
      writer.append(step('a', 'running', { input: { text } }))
      await writer.commit(step('b', 'succeeded', { input: { text: '[1,2', isCut: true } }), 1)
      await writer.commit(step('a', 'succeeded'), 2)
      const error = { name: 'Error', message: 'no' }
      writer.append(step('c', 'failed', { error, input: { text: '"late"' } }))
      await writer.flush()
      const rows = (await all(journal.history('r'))).filter((row) => row.kind === 'node')
      assert.deepEqual(
        rows.map(({ input }) => input),
        [{ text }, { text: '[1,2', isCut: true }, undefined, { text: '"late"' }],
      )
      const { nodes } = await journal.snapshot('r')
      assert.deepEqual(
        nodes.map(({ inputAt }) => inputAt),
        [rows[0]!.position, rows[1]!.position, rows[3]!.position],
      )
    },
  },
  {
    title: 'a graph of 3,000 nodes, and 1,000 that are added later',
    async run(store) {
      await using journal = await store.open()
      const many = Array.from({ length: 3000 }, (_, i) =>
        node(`n${i}`, ...(i > 0 ? [`n${i - 1}`] : [])),
      )
      const writer = await journal.openRun(header('r', many))
      const later = Array.from({ length: 1000 }, (_, i) => node(`later ${i}`))
      writer.addNodes(later)
      await writer.commit(step('later 999', 'succeeded'), 1)
      const { nodes, counts } = await journal.snapshot('r')
      const added = [...many, ...later].map(({ name, after }) => [name, after])
      assert.ok(
        isDeepStrictEqual(
          nodes.map(({ name, after }) => [name, after]),
          added,
        ),
        'all nodes, in the order in which they were added',
      )
      assert.deepEqual(counts, { waiting: 3999, succeeded: 1 })
    },
  },
]

/** The same by other means. */
function modelOf(rows: readonly HistoryEntry[]): {
  states: Record<string, NodeState>
  errors: Record<string, string[]>
} {
  const states: Record<string, NodeState> = {}
  const errors: Record<string, string[]> = {}
  for (const row of rows) {
    if (row.kind === 'nodes') {
      for (const { name } of row.added) {
        states[name] = 'waiting'
        errors[name] = []
      }
    }
    if (row.kind !== 'node') continue
    states[row.node] = row.state
    if (row.error !== undefined) errors[row.node]?.push(row.error.message)
  }
  return { states, errors }
}
