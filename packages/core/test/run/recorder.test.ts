import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, HeddleError, isError, job, retryAfter, run, startRun } from '@heddle/core'
import { systemKernel, type Journal, type Kernel, type RunWriter } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { seededRandom } from '../../src/kernel/random.ts'
import { CountedGraph, historyOf, journals, steps } from './kit.ts'

/** Values that throw when they are read. */
const unreadable: Readonly<Record<string, () => unknown>> = {
  'a getter that throws': () => ({
    get field(): never {
      throw new Error('thrown by a getter')
    },
  }),
  'a getter that throws an error of ours': () => ({
    get field(): never {
      throw new HeddleError('HDL_CLOSED', { what: 'The connection' })
    },
  }),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({ a: 1 }, {})
    revoke()
    return proxy
  },
  'a proxy that throws': () =>
    new Proxy(
      {},
      {
        ownKeys: () => {
          throw new TypeError('thrown by a proxy')
        },
      },
    ),
}

for (const [kind, openEmpty] of Object.entries(journals)) {
  test(`${kind}: every transition of every node is a row, and so is the state of the run`, async (t) => {
    const journal = await openEmpty(t)
    const counted = new CountedGraph().add({ a: [], b: ['a'], c: ['b'], d: [] })
    counted.failing.add('b')
    const { run: id } = await run(counted.graph, { journal, concurrency: 1 })
    const history = await historyOf(journal, id!)
    assert.deepEqual(steps(history).toSorted(), [
      'a ready',
      'a running',
      'a succeeded',
      'b failed',
      'b ready',
      'b running',
      'c blocked',
      'd ready',
      'd running',
      'd succeeded',
    ])
    const blocked = history.find((row) => row.kind === 'node' && row.state === 'blocked')
    assert.ok(blocked?.kind === 'node')
    assert.equal(blocked.blockedBy, 'b')
    const states = history.flatMap((row) => (row.kind === 'run' ? [row.state] : []))
    assert.equal(states.at(-1), 'finished')
    assert.equal(history.at(-1)!.kind, 'run', 'nothing comes after the end')
    const times = history.map(({ at }) => at)
    assert.deepEqual(
      times,
      times.toSorted((x, y) => x - y),
      'times are those of the rows',
    )
  })

  test(`${kind}: the row of a start has the beginning of the input, without redacted fields`, async (t) => {
    const journal = await openEmpty(t)
    const graph = new Graph()
    const echo = job({ name: 'echo' }, (input: unknown) => input)
    const secret = job(
      { name: 'log in', redact: ['password'] },
      (input: { password: string }) => input.password.length,
    )
    const hidden = job({ name: 'pay', redact: true }, (input: string) => input.length)
    const given = graph.add('given', echo, { input: { page: 1 } })
    graph.add('made', echo, { after: [given], input: (of) => [of(given), 2n] })
    graph.add('secret', secret, { input: { password: 'hunter2' } })
    graph.add('hidden', hidden, { input: 'hunter2' })
    graph.add('large', echo, { input: 'x'.repeat(10_000) })
    graph.add('nothing', echo, { input: undefined })
    const { run: id, ok } = await run(graph, { journal })
    assert.equal(ok, true)
    const starts = (await historyOf(journal, id!)).flatMap((row) =>
      row.kind === 'node' && row.state === 'running' ? [[row.node, row.input] as const] : [],
    )
    assert.deepEqual(Object.fromEntries(starts), {
      given: { text: '{"page":1}' },
      made: { text: '[{"page":1},{"$bigint":"2"}]' },
      secret: { text: '{"password":"[redacted]"}' },
      hidden: { text: '"[redacted]"' },
      large: { text: `"${'x'.repeat(4_095)}`, isCut: true },
      nothing: undefined,
    })
  })

  test(`${kind}: an input that takes time to make does not hold back the start, and is in the next row`, async (t) => {
    const journal = await openEmpty(t)
    const graph = new Graph()
    const made = Promise.withResolvers<{ page: number }>()
    const fail = job({ name: 'fail' }, (input: unknown) => {
      throw new Error(`no: ${JSON.stringify(input)}`)
    })
    graph.add('late', fail, { input: () => made.promise })
    const started = await startRun(graph, { journal })
    const rows = async (): Promise<unknown[]> =>
      (await historyOf(journal, started.id!)).flatMap((row) =>
        row.kind === 'node' ? [[row.state, row.input?.text]] : [],
      )
    while ((await rows()).length < 2) await new Promise(setImmediate)
    assert.deepEqual(await rows(), [
      ['ready', undefined],
      ['running', undefined],
    ])
    made.resolve({ page: 1 })
    await started.result
    assert.deepEqual((await rows()).slice(2), [['failed', '{"page":1}']])
  })

  test(`${kind}: a job that continues after a wait, and one that is tried again, have one row for each start`, async (t) => {
    const journal = await openEmpty(t)
    const graph = new Graph()
    const sleeping = job({ name: 'sleep' }, async (_: number, context) => {
      await context.sleep(1)
      if (context.attempt === 0) throw new Error('again')
    })
    graph.add('sleeping', sleeping, { input: 7 })
    const { run: id } = await run(graph, { journal, retries: 1, retryBaseDelay: 1 })
    const rows = (await historyOf(journal, id!)).flatMap((row) =>
      row.kind === 'node' ? [`${row.attempt} ${row.state} ${row.input?.text ?? ''}`.trim()] : [],
    )
    assert.deepEqual(rows, [
      '0 ready',
      '0 running 7',
      '0 suspended',
      '0 running',
      '1 retrying',
      '1 ready',
      '1 running 7',
      '1 succeeded',
    ])
  })

  test(`${kind}: recordInputs: false keeps inputs out of the journal`, async (t) => {
    const journal = await openEmpty(t)
    const graph = new Graph()
    graph.add(
      'a',
      job({ name: 'echo' }, (input: string) => input.length),
      { input: 'hunter2' },
    )
    const { run: id } = await run(graph, { journal, recordInputs: false })
    assert.doesNotMatch(JSON.stringify(await historyOf(journal, id!)), /hunter2/)
  })

  test(`${kind}: an input that cannot be read is for the job to find`, async (t) => {
    const journal = await openEmpty(t)
    const graph = new Graph()
    for (const [name, make] of Object.entries(unreadable)) {
      // To ask a revoked proxy whether it is a promise throws before the job is called.
      if (name === 'a revoked proxy') continue
      graph.add(
        name,
        job({ name: 'take' }, (input: unknown) => typeof input),
        { input: make },
      )
    }
    const { failed } = await run(graph, { journal })
    assert.deepEqual([...failed], [])
  })

  test(`${kind}: the errors of all attempts are in the journal, with delay, code and causes`, async (t) => {
    const journal = await openEmpty(t)
    const graph = new Graph()
    const flaky = job({ name: 'flaky', retries: 2 }, (_: undefined, { attempt }) => {
      const cause = new TypeError('inner')
      const error = new Error(`attempt ${attempt}`, { cause })
      if (attempt < 2) throw retryAfter(0, Object.assign(error, { code: 'E_FLAKY' }))
      return 'at last'
    })
    graph.add('flaky', flaky)
    const { run: id } = await run(graph, { journal })
    const { nodes } = await journal.snapshot(id!)
    const { errors, attempt } = nodes[0]!
    assert.equal(attempt, 2)
    assert.equal(errors.length, 2)
    const [first] = errors
    assert.equal(first!.code, 'HDL_RETRY_AFTER')
    assert.equal(first!.cause!.message, 'attempt 0')
    assert.equal(first!.cause!.code, 'E_FLAKY')
    assert.equal(first!.cause!.cause!.name, 'TypeError')
    assert.match(first!.cause!.stack!, /recorder\.test/)
    const retries = (await historyOf(journal, id!)).filter(
      (row) => row.kind === 'node' && row.state === 'retrying',
    )
    assert.deepEqual(
      retries.map((row) => row.kind === 'node' && [row.attempt, row.delay]),
      [
        [1, 0],
        [2, 0],
      ],
    )
  })

  test(`${kind}: log lines of jobs are in the journal, in their place and with their attempt`, async (t) => {
    const journal = await openEmpty(t)
    const graph = new Graph()
    const talks = job({ name: 'talks', retries: 1 }, (_: undefined, ctx) => {
      ctx.log(`first of ${ctx.attempt}`)
      ctx.log('zwölf\nZeilen')
      if (ctx.attempt === 0) throw retryAfter(0)
    })
    graph.add('talks', talks)
    const { run: id } = await run(graph, { journal })
    const rows = (await historyOf(journal, id!)).flatMap((row) => {
      if (row.kind === 'log') return [`${row.node} ${row.attempt}: ${row.text}`]
      return row.kind === 'node' ? [row.state] : []
    })
    assert.deepEqual(rows, [
      'ready',
      'running',
      'talks 0: first of 0',
      'talks 0: zwölf\nZeilen',
      'retrying',
      'ready',
      'running',
      'talks 1: first of 1',
      'talks 1: zwölf\nZeilen',
      'succeeded',
    ])
  })

  for (const [what, odd] of Object.entries(unreadable)) {
    for (const size of ['small', 'large']) {
      test(`${kind}: a ${size} result with ${what} fails its own node and no other`, async (t) => {
        const journal = await openEmpty(t)
        const graph = new Graph()
        const filler = size === 'small' ? [] : Array.from({ length: 20_000 }, (_, i) => ({ i }))
        graph.add(
          'odd',
          job({ name: 'odd', retries: 3 }, () => ({ filler, inside: [odd()] })),
        )
        graph.add(
          'good',
          job({ name: 'good' }, () => filler),
        )
        const result = await run(graph, { journal })
        assert.equal(result.state, 'finished')
        assert.deepEqual(result.succeeded, ['good'])
        const error = result.failed.get('odd')
        assert.ok(isError(error, 'HDL_NOT_CLONEABLE'), String(error))
        assert.match(error.message, /"odd" cannot be stored: .*inside\[0\].*cannot be read/)
        assert.equal(result.errors.get('odd')!.length, 1, 'it would not get better')
        assert.deepEqual(await journal.valueOf(result.run!, 'good'), filler)
      })
    }
  }

  test(`${kind}: a job that keeps changing its result fails, and nothing of it is stored`, async (t) => {
    const journal = await openEmpty(t)
    const graph = new Graph()
    const rows = Array.from({ length: 30_000 }, (_, id) => ({ id, count: 0 }))
    let isOver = false
    const keepChanging = (): void => {
      for (let i = 0; i < rows.length; i += 1000) rows[i]!.count++
      if (!isOver) setImmediate(keepChanging)
    }
    graph.add(
      'restless',
      job({ name: 'restless' }, () => {
        setImmediate(keepChanging)
        return rows
      }),
    )
    graph.add(
      'good',
      job({ name: 'good' }, () => 1),
    )
    const result = await run(graph, { journal }).finally(() => (isOver = true))
    assert.equal(result.state, 'finished')
    assert.deepEqual(result.succeeded, ['good'])
    assert.match(String(result.failed.get('restless')), /changed while it was written/)
    await assert.rejects(journal.valueOf(result.run!, 'restless'), { code: 'HDL_NO_RESULT' })
  })

  test(`${kind}: a result that is not plain data fails its own node and no other`, async (t) => {
    const journal = await openEmpty(t)
    const graph = new Graph()
    const odd = graph.add(
      'odd',
      job({ name: 'odd', retries: 3 }, () => ({ list: [1, () => 2] })),
    )
    graph.add(
      'behind',
      job({ name: 'behind' }, () => 1),
      { after: [odd] },
    )
    graph.add(
      'good',
      job({ name: 'good' }, () => 1),
    )
    const result = await run(graph, { journal, concurrency: 1 })
    assert.equal(result.state, 'finished')
    assert.deepEqual(result.succeeded, ['good'])
    assert.match(String(result.failed.get('odd')), /"odd".*list\[1\] is a function/)
    assert.equal(result.errors.get('odd')!.length, 1, 'it would not get better')
    assert.deepEqual([...result.blocked], [['behind', 'odd']])
    assert.deepEqual((await journal.snapshot(result.run!)).counts, {
      failed: 1,
      blocked: 1,
      succeeded: 1,
    })
  })
}

/** A journal whose commits end when the test says so. */
async function heldJournal(t: Parameters<(typeof journals)[string]>[0]): Promise<{
  readonly journal: Journal
  /** Rows that were added and are not durable. */
  readonly commits: (() => void)[]
  fail: Error | undefined
}> {
  const journal = await journals['memory']!(t)
  const held = { journal, commits: [] as (() => void)[], fail: undefined as Error | undefined }
  const openRun = journal.openRun.bind(journal)
  journal.openRun = async (header): Promise<RunWriter> => {
    const writer = await openRun(header)
    const commit = writer.commit.bind(writer)
    writer.commit = async (transition, value, guard) => {
      assert.equal(guard?.close(), true)
      if (held.fail === undefined) await new Promise<void>((done) => held.commits.push(done))
      if (held.fail !== undefined) throw held.fail
      return commit(transition, value)
    }
    return writer
  }
  return held
}

const virtualKernel = (): { clock: VirtualClock; random: ReturnType<typeof seededRandom> } => ({
  clock: new VirtualClock(),
  random: seededRandom(1),
})

test('law 6: a success is reported only when it is durable', async (t) => {
  const held = await heldJournal(t)
  const kernel = virtualKernel()
  const heard: string[] = []
  const { graph, calls } = new CountedGraph().add({ a: [], b: ['a'] })
  const { result } = await startRun(graph, {
    journal: held.journal,
    kernel,
    observer: (event) => {
      if (event.type === 'node' && event.state === 'succeeded') heard.push(event.name)
    },
  })
  await kernel.clock.settle()
  assert.deepEqual([calls, heard], [['a'], []])
  held.commits.shift()!()
  await kernel.clock.settle()
  assert.deepEqual([calls, heard], [['a', 'b'], ['a']])
  held.commits.shift()!()
  assert.equal((await result).ok, true)
  assert.equal(kernel.clock.pending, 0)
})

for (const [what, interrupt] of [
  ['its timeout', async (clock: VirtualClock) => clock.advance(5_000)],
  [
    'a cancel that aborts',
    async (clock: VirtualClock, cancel: () => void) => {
      cancel()
      await clock.advance(60_000)
    },
  ],
] as const) {
  test(`a success that is being written is not undone by ${what}`, async (t) => {
    const held = await heldJournal(t)
    const kernel = virtualKernel()
    const { graph, calls } = new CountedGraph().add({ a: [] })
    const { scheduler, result } = await startRun(graph, {
      journal: held.journal,
      kernel,
      timeout: 1_000,
      retries: 3,
    })
    await kernel.clock.settle()
    await interrupt(kernel.clock, () => scheduler.cancel({ abort: true }))
    held.commits.shift()!()
    const ended = await result
    assert.deepEqual(ended.succeeded, ['a'], 'the journal holds it, so that is how it ended')
    assert.deepEqual(calls, ['a'])
    const history = await historyOf(held.journal, ended.run!)
    assert.deepEqual(steps(history), ['a ready', 'a running', 'a succeeded'])
    assert.equal(kernel.clock.pending, 0)
  })
}

/** The kernel of a journal that reads a large value in two slices, each when the test says so. */
class SlicedByHand {
  #slices: (() => void)[] = []
  #wake = Promise.withResolvers<void>()
  #isFree = false
  readonly kernel: Kernel = {
    ...systemKernel,
    clock: {
      ...systemKernel.clock,
      now: () => 0,
      afterIo: (slice) => {
        if (this.#isFree) return systemKernel.clock.afterIo(slice)
        this.#slices.push(slice)
        this.#wake.resolve()
      },
    },
  }

  /** Waits until a slice is next. */
  async waiting(): Promise<void> {
    while (this.#slices.length === 0) {
      await this.#wake.promise
      this.#wake = Promise.withResolvers()
    }
  }

  goOn(): void {
    for (const slice of this.#slices.splice(0)) slice()
  }

  /** From here on slices run by themselves. */
  free(): void {
    this.#isFree = true
    this.goOn()
  }
}

for (const [kind, openEmpty] of Object.entries(journals)) {
  for (const [what, interrupt, state] of [
    ['its timeout', (clock: VirtualClock) => clock.advance(1_000), 'failed'],
    ['a cancel that aborts', async (_: VirtualClock, cancel: () => void) => cancel(), 'cancelled'],
  ] as const) {
    for (const slices of [0, 1]) {
      const when = ['before the second slice', 'before the second reading'][slices]
      test(`${kind}, J10: ${what} ends an attempt whose result is being encoded, ${when}`, async (t) => {
        const byHand = new SlicedByHand()
        const journal = await openEmpty(t, byHand.kernel)
        const kernel = virtualKernel()
        const graph = new Graph()
        const rows = Array.from({ length: 20_000 }, (_, id) => ({ id }))
        graph.add(
          'a',
          job({ name: 'large' }, () => rows),
        )
        const { scheduler, result } = await startRun(graph, { journal, kernel, timeout: 1_000 })
        await kernel.clock.settle()
        for (let slice = 0; slice < slices; slice++) {
          await byHand.waiting()
          byHand.goOn()
        }
        await byHand.waiting()
        await interrupt(kernel.clock, () => scheduler.cancel({ abort: true }))
        byHand.free()
        const ended = await result
        assert.deepEqual(ended.succeeded, [])
        assert.equal(isError(ended.failed.get('a'), 'HDL_TIMEOUT'), state === 'failed')
        const history = await historyOf(journal, ended.run!)
        assert.deepEqual(steps(history), ['a ready', 'a running', `a ${state}`])
        await assert.rejects(journal.valueOf(ended.run!, 'a'), { code: 'HDL_NO_RESULT' })
        assert.equal(journal.stats().failed, false)
        assert.equal(kernel.clock.pending, 0)
      })
    }
  }
}

test('a journal that fails ends the run: nothing false is acknowledged', async (t) => {
  const held = await heldJournal(t)
  const kernel = virtualKernel()
  const heard: string[] = []
  const counted = new CountedGraph().add({ a: [], b: ['a'], c: ['b'], d: [] })
  const { result, scheduler } = await startRun(counted.graph, {
    journal: held.journal,
    kernel,
    concurrency: 1,
    retries: 5,
    observer: (event) => {
      if (event.type === 'node' && event.state === 'succeeded') heard.push(event.name)
    },
  })
  await kernel.clock.settle()
  held.commits.shift()!()
  await kernel.clock.settle()
  const details = { store: 'runs.db', action: 'be written', cause: 'the disk is full' }
  held.fail = new HeddleError('HDL_STORE_FAILED', details)
  held.commits.shift()!()
  await kernel.clock.settle()
  const ended = await result
  assert.deepEqual(heard, ['a'])
  assert.equal(counted.calls.length, 2, 'nothing was started after it, and nothing tried again')
  assert.deepEqual([ended.ok, ended.state], [false, 'cancelled'])
  assert.equal(scheduler.state, 'cancelled')
  assert.equal(kernel.clock.pending, 0)
})

test('a journal that its owner closes during a run ends the run', async (t) => {
  const journal = await journals['sqlite']!(t)
  const started = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const graph = new Graph()
  const waits = job({ name: 'waits' }, () => {
    started.resolve()
    return gate.promise
  })
  graph.add('a', waits)
  graph.add('b', waits, { after: ['a'] })
  const { result } = await startRun(graph, { journal })
  await started.promise
  await journal.stop()
  gate.resolve()
  const ended = await result
  assert.equal(ended.state, 'cancelled')
  assert.ok(isError(ended.failed.get('a'), 'HDL_CLOSED'))
  assert.deepEqual(ended.skipped, ['b'])
})
