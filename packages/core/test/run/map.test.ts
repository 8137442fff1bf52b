import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Graph,
  isError,
  job,
  retryAfter,
  run,
  startRun,
  type Job,
  type Needs,
  type NodeRef,
} from '@heddle/core'
import { systemKernel } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { LaneTable } from '../../src/capacity/lane-table.ts'
import { cutOff, historyOf, journals } from './kit.ts'

const list = (length: number): Job<unknown, number[]> =>
  job({ name: 'list' }, () => Array.from({ length }, (_, index) => index))

function virtual(): { clock: VirtualClock; kernel: typeof systemKernel } {
  const clock = new VirtualClock()
  return { clock, kernel: { ...systemKernel, clock } }
}

const wait = (clock: VirtualClock, ms: number): Promise<void> =>
  new Promise((resolve) => clock.setTimer(ms, resolve))

test('G2: results are in the order of the elements, whatever order they end in', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const source = graph.add('list', list(5))
  const slow = job({ name: 'slow' }, async (n: number) => {
    await wait(clock, 100 - 10 * n)
    return n * n
  })
  const squares = graph.map('squares', slow, { over: source })
  const result = await clock.runUntil(run(graph, { kernel, concurrency: 10 }))
  assert.deepEqual(result.of(squares), [0, 1, 4, 9, 16])
  assert.deepEqual(result.succeeded, ['list', 'squares'])
})

test('G1: no more elements than the window are started, and each is read when there is room', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  let read = 0
  let ended = 0
  let most = 0
  function* elements(): Generator<number> {
    for (; read < 20; read++) {
      most = Math.max(most, read + 1 - ended)
      yield read
    }
  }
  const work = job({ name: 'work' }, async () => {
    await wait(clock, 10)
    ended++
  })
  const all = graph.map('all', work, { over: () => elements(), window: 3, collect: false })
  const result = await clock.runUntil(run(graph, { kernel, concurrency: Infinity }))
  assert.deepEqual(result.of(all), { elements: 20, succeeded: 20, failed: 0 })
  assert.equal(most, 3)
})

test('G4: elements count in concurrency, and the map itself holds no permit', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const source = graph.add('list', list(6))
  let running = 0
  let most = 0
  const work = job({ name: 'work' }, async () => {
    most = Math.max(most, ++running)
    await wait(clock, 10)
    running--
  })
  graph.map('one', work, { over: source, collect: false })
  graph.map('two', work, { over: source, collect: false })
  const result = await clock.runUntil(run(graph, { kernel, concurrency: 2 }))
  assert.equal(result.ok, true)
  assert.equal(most, 2)
})

test('needs, limits for each key and retries apply to each element', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const source = graph.add('list', list(8))
  const running = new Map<string, number>()
  let most = 0
  let failures = 0
  const work = job({ name: 'work', retries: 1 }, async (n: number, ctx) => {
    const tenant = n % 2 === 0 ? 'even' : 'odd'
    running.set(tenant, (running.get(tenant) ?? 0) + 1)
    most = Math.max(most, running.get(tenant)!)
    await wait(clock, 10)
    running.set(tenant, running.get(tenant)! - 1)
    if (ctx.attempt === 0) {
      failures++
      throw new Error('once')
    }
    return ctx.attempt
  })
  const all = graph.map('all', work, {
    over: source,
    needs: (n) => ({ tenant: n % 2 === 0 ? 'even' : 'odd' }),
  })
  const resources = { tenant: { each: 1 } }
  const result = await clock.runUntil(run(graph, { kernel, concurrency: 8, resources }))
  assert.deepEqual(result.of(all), [1, 1, 1, 1, 1, 1, 1, 1])
  assert.equal(failures, 8)
  assert.equal(most, 1)
})

test('G3: a map over 2,000 keys has no more lanes at a time than its window needs', async (t) => {
  const tables = new Map<object, number>()
  const { value } = Object.getOwnPropertyDescriptor(LaneTable.prototype, 'laneFor')!
  const laneFor = value as (...given: never) => unknown
  t.mock.method(LaneTable.prototype, 'laneFor', function (this: LaneTable<never>, ...given: never) {
    const lane = Reflect.apply(laneFor, this, given)
    tables.set(this, Math.max(tables.get(this) ?? 0, this.size))
    return lane
  })
  const graph = new Graph()
  const source = graph.add('list', list(2_000))
  const work = job({ name: 'work', retries: 1 }, (n: number, ctx) => {
    if (n % 100 === 0 && ctx.attempt === 0) throw retryAfter(0)
    return n
  })
  const needs = (n: number): Needs => ({ tenant: `tenant ${n}` })
  const all = graph.map('all', work, { over: source, needs, window: 10 })
  const result = await run(graph, { resources: { tenant: { each: 1 } } })
  assert.equal(result.of(all).length, 2_000)
  assert.equal(tables.size, 1)
  const [most] = tables.values()
  assert.ok(most! <= 20, `${most} lanes at a time`)
})

test('G5: with stop the first failure ends the map, aborts running elements and starts nothing', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const source = graph.add('list', list(10))
  const started: number[] = []
  const aborted: number[] = []
  const work = job({ name: 'work' }, async (n: number, ctx) => {
    started.push(n)
    if (n === 1) throw new Error('one broke')
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    aborted.push(n)
  })
  graph.map('all', work, { over: source, window: 3 })
  const result = await clock.runUntil(run(graph, { kernel, concurrency: 10 }))
  assert.deepEqual(started, [0, 1, 2])
  assert.deepEqual(aborted, [0, 2])
  const error = result.failed.get('all') as Error & { code: string }
  assert.equal(error.code, 'HDL_ELEMENT_FAILED')
  assert.match(error.message, /Element 1 of "all" failed: one broke/)
  assert.equal((error.cause as Error).message, 'one broke')
})

test('with collect every element has an outcome; with atMost a limited number may fail', async () => {
  const odd = job({ name: 'odd' }, (n: number) => {
    if (n % 2 === 0) throw Object.assign(new Error(`${n} is even`), { code: 'EVEN' })
    return n
  })
  const graph = new Graph()
  const source = graph.add('list', list(4))
  const collected = graph.map('collected', odd, { over: source, failures: 'collect' })
  const some = graph.map('some', odd, { over: source, failures: { atMost: 2 } })
  graph.map('few', odd, { over: source, failures: { atMost: 1 } })
  const counts = graph.map('counts', odd, { over: source, failures: 'collect', collect: false })
  const result = await run(graph)
  const expected = [
    { ok: false, error: { name: 'Error', message: '0 is even', code: 'EVEN' } },
    { ok: true, value: 1 },
    { ok: false, error: { name: 'Error', message: '2 is even', code: 'EVEN' } },
    { ok: true, value: 3 },
  ]
  assert.deepEqual(result.of(collected), expected)
  assert.deepEqual(result.of(some), expected)
  assert.deepEqual(result.of(counts), { elements: 4, succeeded: 2, failed: 2 })
  assert.deepEqual([...result.failed.keys()], ['few'])
})

test('needs of one element that can never be met fail that element; if no element can run, the map fails', async () => {
  const work = job({ name: 'work' }, (n: number) => n)
  const graph = new Graph()
  const own = graph.map('own', work, {
    over: () => [1, 9, 3, 5, 4],
    needs: (n) => (n === 3 ? { disk: 1 } : { db: n === 5 ? Number.NaN : n }),
    failures: 'collect',
  })
  graph.map('same', work, { over: () => [1, 2], needs: { disk: 1 }, failures: 'collect' })
  const result = await run(graph, { resources: { db: 4 } })
  const codes = result.of(own).map((each) => (each.ok ? each.value : each.error.code))
  assert.deepEqual(codes, [1, 'HDL_WOULD_DEADLOCK', 'HDL_BAD_OPTION', 'HDL_BAD_OPTION', 4])
  assert.ok(isError(result.failed.get('same'), 'HDL_BAD_OPTION'))
})

test('an element that throws an unreadable value fails, and the map ends', async () => {
  const trap = (): never => {
    throw new Error('trapped')
  }
  const thrown = [
    new Proxy(new Error('proxy'), { get: trap, getPrototypeOf: trap }),
    Object.defineProperty(new Error('getter'), 'code', { get: trap }),
  ]
  const graph = new Graph()
  const all = graph.map(
    'all',
    job({ name: 'throws' }, (n: number) => {
      throw thrown[n]!
    }),
    { over: () => [0, 1], failures: 'collect' },
  )
  for (const journal of [undefined, 'memory']) {
    const result = await run(graph, journal === undefined ? {} : { journal })
    assert.deepEqual(
      result.of(all).map(({ ok }) => ok),
      [false, false],
    )
  }
})

test('two elements with one key, and a value that is not a list, fail the map', async () => {
  const graph = new Graph()
  const work = job({ name: 'work' }, (n: unknown) => n)
  graph.map('twice', work, { over: () => [1, 2], key: () => 'same' })
  graph.map('none', work, { over: () => 7 as never })
  const { failed } = await run(graph)
  const codes = new Map(
    [...failed].map(([name, error]) => [name, (error as { code: string }).code]),
  )
  assert.equal(codes.get('twice'), 'HDL_DUPLICATE_ELEMENT')
  assert.equal(codes.get('none'), 'HDL_BAD_OPTION')
})

test('a source whose next() does not return a result object fails the map, as it fails a for-await loop', async () => {
  const graph = new Graph()
  const work = job({ name: 'work' }, (n: unknown) => n)
  const answers = { undefined, null: null, 'a number': 5 }
  for (const [what, answer] of Object.entries(answers)) {
    const next = () => answer as never
    graph.map(what, work, { over: () => ({ [Symbol.iterator]: () => ({ next }) }) })
    const later = () => Promise.resolve(answer as never)
    graph.map(`${what}, later`, work, {
      over: () => ({ [Symbol.asyncIterator]: () => ({ next: later }) }),
    })
  }
  const { failed, succeeded } = await run(graph)
  assert.deepEqual(succeeded, [])
  for (const error of failed.values()) assert.ok(isError(error, 'HDL_BAD_OPTION'))
  assert.equal(failed.size, 6)
  const { message } = failed.get('undefined, later') as Error
  assert.match(
    message,
    /"over of undefined, later" is undefined, .*next\(\) returns \{ done, value \}/,
  )
})

test('a source that throws undefined fails the map', async () => {
  const graph = new Graph()
  const nothing = undefined as unknown as Error
  const echo = job({ name: 'echo' }, (n: number) => n)
  graph.map('thrown', echo, {
    over: async function* () {
      yield 1
      throw nothing
    },
  })
  graph.map('thrown at once', echo, {
    over: function* () {
      yield 1
      throw nothing
    },
  })
  const { failed } = await run(graph)
  assert.deepEqual([...failed.keys()].toSorted(), ['thrown', 'thrown at once'])
})

/** Gives one element, and never another one. */
function waitingSource(closed: () => unknown = () => undefined): AsyncIterable<number> {
  let read = 0
  const next = (): Promise<IteratorResult<number>> =>
    read++ === 0 ? Promise.resolve({ done: false, value: 0 }) : new Promise(() => {})
  return {
    [Symbol.asyncIterator]: () => ({ next, return: () => closed() as Promise<never> }),
  }
}

test('G14: a source that waits is left and closed when an element has failed', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const closed: string[] = []
  const fail = job({ name: 'fail' }, () => Promise.reject(new Error('it broke')))
  const never = (): Promise<never> => {
    closed.push('never')
    return new Promise(() => {})
  }
  graph.map('waits', fail, { over: () => waitingSource(never) })
  async function* generator(): AsyncGenerator<number> {
    yield 0
    await new Promise(() => {})
  }
  graph.map('generator', fail, { over: () => generator() })
  const result = await run(graph, { kernel })
  assert.deepEqual([...result.failed.keys()], ['waits', 'generator'])
  assert.deepEqual(closed, ['never'])
  assert.equal(clock.pending, 0)
})

test('G14: a source has a second to close itself, and an error from then is ignored', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const endless = (close: () => Promise<never>): AsyncIterable<number> => ({
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.resolve({ done: false, value: 0 }),
      return: close,
    }),
  })
  const fail = job({ name: 'fail' }, () => Promise.reject(new Error('it broke')))
  graph.map('hangs', fail, { over: () => endless(() => new Promise(() => {})), window: 2 })
  const broken = (): Promise<never> => Promise.reject(new Error('not closed'))
  graph.map('throws', fail, { over: () => endless(broken), window: 2 })
  const started = await startRun(graph, { kernel })
  await clock.advance(999)
  assert.equal(started.scheduler.explain('hangs').state, 'suspended')
  await clock.advance(1)
  const result = await started.result
  for (const name of ['hangs', 'throws']) {
    assert.match(String(result.failed.get(name)), /Element 0 of "\w+" failed: it broke/)
  }
  assert.equal(clock.pending, 0)
})

test('G14: a read takes no longer than an element may', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const echo = job({ name: 'echo' }, (n: number) => n)
  graph.map('own', echo, { over: () => waitingSource(), timeout: 500 })
  graph.map('run', echo, { over: () => waitingSource() })
  graph.map('needs', echo, {
    over: () => [1],
    input: () => new Promise<number>(() => {}),
    needs: () => ({}),
    timeout: 300,
  })
  const started = await startRun(graph, { kernel, timeout: 2_000 })
  await clock.advance(500)
  assert.equal(started.scheduler.explain('own').state, 'failed')
  assert.match(started.scheduler.explain('run').text, /0 elements under way, 1 ended/)
  const { failed } = await clock.runUntil(started.result)
  const text = [...failed].map(([name, error]) => `${name}: ${(error as Error).message}`)
  assert.deepEqual(text.map((each) => each.split(' ms')[0]!).toSorted(), [
    'needs: needs of "needs[0]" timed out after 300',
    'own: The source of "own" timed out after 500',
    'run: The source of "run" timed out after 2000',
  ])
  assert.equal(clock.pending, 0)
})

test('G14: a cancel leaves the source; elements under way may end, and a clean-up map is read to its end', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const ended: number[] = []
  const slow = job({ name: 'slow' }, async (n: number) => {
    await wait(clock, 50)
    ended.push(n)
  })
  const all = graph.map('all', slow, { over: () => waitingSource() })
  async function* late(): AsyncGenerator<number> {
    yield 10
    await wait(clock, 20)
    yield 11
  }
  const clean = (): Graph => {
    const inner = new Graph()
    inner.map('up', slow, { over: () => late() })
    return inner
  }
  graph.subgraph('clean', clean, { after: [all], when: 'always' })
  const started = await startRun(graph, { kernel })
  await clock.advance(10)
  started.scheduler.cancel()
  const result = await clock.runUntil(started.result)
  assert.deepEqual(ended, [0, 10, 11])
  assert.deepEqual(result.cancelled, ['all'])
  assert.deepEqual(result.succeeded, ['clean/up', 'clean'])
  assert.equal(clock.pending, 0)
})

test('pause starts no element; cancel lets running elements finish, skips the rest, and ends the map as cancelled', async () => {
  const { clock, kernel } = virtual()
  const graph = new Graph()
  const source = graph.add('list', list(10))
  const ended: number[] = []
  const work = job({ name: 'work' }, async (n: number) => {
    await wait(clock, 10)
    ended.push(n)
  })
  graph.map('all', work, { over: source, window: 4 })
  const started = await startRun(graph, { kernel, concurrency: 2 })
  const { scheduler } = started
  await clock.advance(5)
  scheduler.pause()
  await clock.advance(100)
  assert.deepEqual(ended, [0, 1])
  assert.match(scheduler.explain('all').text, /elements under way, 2 of 10 ended/)
  scheduler.resume()
  await clock.settle()
  scheduler.cancel()
  const result = await clock.runUntil(started.result)
  assert.deepEqual(ended, [0, 1, 2, 3])
  assert.deepEqual(result.cancelled, ['all'])
  assert.equal(clock.pending, 0)
})

test('elements are reported to observers, and the progress of the map with them', async () => {
  const graph = new Graph()
  const source = graph.add('list', list(2))
  graph.map(
    'all',
    job({ name: 'work' }, (_: number, ctx) => ctx.log('hello')),
    { over: source },
  )
  const events: string[] = []
  await run(graph, {
    concurrency: 1,
    observer: (event) => {
      if (event.type === 'part') events.push(`${event.name}${event.path} ${event.state}`)
      if (event.type === 'log') events.push(`${event.name}: ${event.text}`)
      if (event.type === 'progress') events.push(`${event.fraction} ${event.text}`)
    },
  })
  assert.deepEqual(events, [
    'all[0] ready',
    'all[1] ready',
    'all[0] running',
    'all: [0] hello',
    'all[0] succeeded',
    '0.5 1 of 2',
    'all[1] running',
    'all: [1] hello',
    'all[1] succeeded',
    '1 2 of 2',
  ])
})

for (const [name, open] of Object.entries(journals)) {
  test(`G3, ${name}: cut off after any row, elements that succeeded are not run again and results are complete`, async (t) => {
    const calls: number[] = []
    const make = (keyed: boolean): { graph: Graph; all: ReturnType<typeof build> } => {
      const graph = new Graph()
      return { graph, all: build(graph, keyed) }
    }
    const build = (graph: Graph, keyed: boolean) => {
      const source = graph.add('list', list(4))
      const work = job({ name: 'work' }, (n: number) => {
        calls.push(n)
        return { square: n * n }
      })
      const key = keyed && { key: (n: number) => `element ${n}` }
      return graph.map('all', work, { over: source, window: 2, ...key })
    }
    for (const keyed of [false, true]) {
      const whole = await open(t)
      const { run: id } = await run(make(keyed).graph, { journal: whole, concurrency: 2 })
      const rows = (await historyOf(whole, id!)).length
      for (let cut = 2; cut < rows; cut++) {
        const crashed = await open(t)
        const again = await cutOff(whole, id!, cut, crashed)
        const done = (await Array.fromAsync(crashed.parts(again, 'all'))).filter(
          ({ state }) => state === 'succeeded',
        ).length
        calls.length = 0
        const { graph, all } = make(keyed)
        const result = await run(graph, { journal: crashed, resume: again, concurrency: 2 })
        assert.equal(calls.length, result.reused.includes('all') ? 0 : 4 - done)
        assert.deepEqual(
          result.of(all),
          [0, 1, 4, 9].map((square) => ({ square })),
        )
      }
    }
  })

  test(`${name}: a failure of an element stands after a crash, and is tried again when the map has failed`, async (t) => {
    const calls: number[] = []
    const failing = new Set([1, 3])
    const make = (atMost: number): Graph => {
      const graph = new Graph()
      const source = graph.add('list', list(4))
      const work = job({ name: 'work' }, (n: number) => {
        calls.push(n)
        if (failing.has(n)) throw new Error(`${n} broke`)
        return n
      })
      graph.map('all', work, { over: source, window: 1, failures: { atMost } })
      return graph
    }
    const journal = await open(t)
    const first = await run(make(1), { journal })
    assert.equal(first.ok, false)
    assert.deepEqual(calls, [0, 1, 2, 3])
    const history = await historyOf(journal, first.run!)
    const failedAt = history.findIndex((row) => row.kind === 'part' && row.state === 'failed')
    const crashed = await open(t)
    const again = await cutOff(journal, first.run!, failedAt + 1, crashed)
    calls.length = 0
    await run(make(1), { journal: crashed, resume: again })
    assert.deepEqual(calls, [2, 3], 'the failure of element 1 stands')
    failing.clear()
    calls.length = 0
    const last = await run(make(1), { journal, resume: first.run! })
    assert.equal(last.ok, true)
    assert.deepEqual(calls, [1, 3], 'what failed is tried again')
  })
}

test('a source that answers with promises sets one timer, not one for each element', async () => {
  const clock = new VirtualClock()
  let timers = 0
  const setTimer = clock.setTimer.bind(clock)
  clock.setTimer = (delay, callback) => {
    timers++
    return setTimer(delay, callback)
  }
  async function* numbers(): AsyncGenerator<number> {
    for (let n = 0; n < 200; n++) yield n
  }
  const graph = new Graph()
  const noop = job({ name: 'noop' }, (n: number) => n)
  graph.map('noop', noop, { over: () => numbers(), collect: false })
  const result = await clock.runUntil(run(graph, { kernel: { ...systemKernel, clock } }))
  assert.equal(result.ok, true)
  assert.ok(timers < 20, `${timers} timers`)
})

test('a source that is not a list and a key that is not a text are named with where they come from', async () => {
  const graph = new Graph()
  const rows = graph.add(
    'rows',
    job({ name: 'rows' }, () => ({ count: 3 })),
  )
  const copy = job({ name: 'copy' }, (n: number) => n)
  graph.map('each row', copy, { over: rows as unknown as NodeRef<number[]> })
  graph.map('keyed', copy, { over: () => [7], key: (n) => n as unknown as string })
  graph.map('without', copy, { over: () => [7], key: () => undefined as unknown as string })
  const result = await run(graph)
  assert.equal(
    (result.failed.get('each row') as Error).message,
    'Option "over of each row" is an object with count, expected a list or another iterable as the result of "rows".',
  )
  assert.equal(
    (result.failed.get('keyed') as Error).message,
    'Option "key of element 0 of keyed" is 7, expected a text that is not empty: `key: (row) => String(row.id)`.',
  )
  assert.match(
    (result.failed.get('without') as Error).message,
    /"key of element 0 of without" is undefined/,
  )
})
