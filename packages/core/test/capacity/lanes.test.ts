import assert from 'node:assert/strict'
import test from 'node:test'
import { FakeRun, newCapacity } from './kit.ts'

test('I3 deeper first inside a priority, first come among equals', () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock)
  for (const [name, depth] of [
    ['a', 0],
    ['deep', 2],
    ['b', 0],
    ['middle', 1],
    ['deep too', 2],
  ] as const) {
    run.add(name, { depth })
  }
  assert.deepEqual(run.pump(), ['deep', 'deep too', 'middle', 'a', 'b'])
})

test('I3 deeper nodes go first also between lanes that need different permits', () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { concurrency: 9, resources: { db: 4 } })
  run.add('fetch 1')
  run.add('store', { needs: { db: 1 }, depth: 2 })
  run.add('fetch 2')
  assert.deepEqual(run.pump(), ['store', 'fetch 1', 'fetch 2'])
})

test('I3 aging decides between priorities: the old one of priority 2 goes before the new one of priority 1', async () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { concurrency: 1, aging: 100 })
  run.add('busy')
  run.pump()
  run.add('old', { priority: 2 })
  await clock.advance(150)
  run.add('new', { priority: 1, depth: 5 })
  run.end()
  assert.deepEqual(run.pump(), ['old'])
})

test('I3 aging does nothing inside a priority: an old root waits for younger nodes that are deeper', async () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { concurrency: 1, aging: 100 })
  run.add('busy')
  run.pump()
  run.add('root')
  await clock.advance(10_000)
  run.add('leaf', { depth: 1 })
  run.end()
  assert.deepEqual(run.pump(), ['leaf'])
})

test('I2 S38 a lane that lacks a permit keeps no other lane from running, and holds nothing', () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { concurrency: 2, resources: { gpu: 1 } })
  run.add('g1', { needs: { gpu: 1 } })
  run.add('g2', { needs: { gpu: 1 } })
  run.add('other')
  run.add('last')
  assert.deepEqual(run.pump(), ['g1', 'other'])
  run.end()
  assert.deepEqual(run.pump(), ['g2'])
})

test('I2 a heavy entry is not starved by light entries that came later', () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { resources: { cpu: 2 } })
  run.add('l1', { needs: { cpu: 1 } })
  run.add('l2', { needs: { cpu: 1 } })
  run.add('heavy', { needs: { cpu: 2 } })
  run.add('l3', { needs: { cpu: 1 } })
  assert.deepEqual(run.pump(), ['l1', 'l2'])
  run.end()
  assert.deepEqual(run.pump(), [], 'the free permit waits for the heavy one')
  run.end()
  assert.deepEqual(run.pump(), ['heavy'])
})

test('every attempt takes one permit of its place; needs adds to it; { loop: 0 } takes none', () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { concurrency: 2, resources: { db: 9 } })
  run.add('a', { needs: { db: 1 } })
  run.add('b', { needs: { db: 1 } })
  run.add('c', { needs: { db: 1 } })
  run.add('poll', { needs: { loop: 0, db: 1 } })
  assert.deepEqual(run.pump(), ['a', 'b', 'poll'])
})

test('concurrency for each place: loop and thread have limits of their own', () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { concurrency: { loop: 2, thread: 1 } })
  for (const name of ['t1', 't2']) run.add(name, { at: { place: 'thread' } })
  for (const name of ['l1', 'l2', 'l3']) run.add(name)
  assert.deepEqual(run.pump(), ['t1', 'l1', 'l2'])
})

test('a limit for each key: keys do not wait for each other', () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { resources: { tenant: { each: 1 } } })
  run.add('a1', { needs: { tenant: 'a' } })
  run.add('a2', { needs: { tenant: 'a' } })
  run.add('b1', { needs: { tenant: 'b' } })
  assert.deepEqual(run.pump(), ['a1', 'b1'])
  run.end()
  assert.deepEqual(run.pump(), ['a2'])
})

test('C1 runs of equal priority take turns on the permits of the process, by when they began to wait', () => {
  const { clock, capacity } = newCapacity({ loop: 1 })
  const one = new FakeRun(capacity, clock)
  const two = new FakeRun(capacity, clock)
  for (let i = 0; i < 4; i++) one.add(`one ${i}`)
  const order = one.pump()
  for (let i = 0; i < 4; i++) two.add(`two ${i}`)
  two.pump()
  for (let i = 0; i < 7; i++) {
    const busy = one.started.length > 0 ? one : two
    busy.end()
    // The one that gives back is the first that could take it again.
    order.push(...busy.pump())
    for (const run of [one, two]) order.push(...run.answer())
  }
  assert.deepEqual(order, ['one 0', 'one 1', 'two 0', 'one 2', 'two 1', 'one 3', 'two 2', 'two 3'])
})

test('C2 a paused run keeps no other run waiting, and joins again when it is resumed', () => {
  const { clock, capacity } = newCapacity({ loop: 1 })
  const [busy, paused, other] = Array.from({ length: 3 }, () => new FakeRun(capacity, clock))
  busy!.add('busy')
  busy!.pump()
  paused!.add('paused')
  paused!.pump()
  other!.add('other')
  other!.pump()
  paused!.pause()
  busy!.end()
  assert.deepEqual(other!.answer(), ['other'])
  paused!.isPaused = false
  assert.deepEqual(paused!.pump(), [])
  other!.end()
  assert.deepEqual(paused!.answer(), ['paused'])
})

test('C4 reserved permits are on top, and only for priority 0', () => {
  const { clock, capacity } = newCapacity({ thread: { permits: 2, reserved: 1 } })
  const run = new FakeRun(capacity, clock)
  const at = { place: 'thread' } as const
  for (const name of ['a', 'b', 'c']) run.add(name, { at })
  assert.deepEqual(run.pump(), ['a', 'b'])
  run.add('urgent', { at, priority: 0 })
  run.add('urgent too', { at, priority: 0 })
  assert.deepEqual(run.pump(), ['urgent'])
  assert.deepEqual(capacity.stats()['thread'], {
    permits: 2,
    reserved: 1,
    used: 2,
    usedReserved: 1,
    waiting: 2,
  })
})

test('K2 a rate: the next one starts when the window has moved, without a call from outside', async () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { resources: { api: { limit: 2, per: 100 } } })
  for (let i = 0; i < 5; i++) run.add(`n${i}`, { needs: { api: 1 } })
  assert.deepEqual(run.pump(), ['n0', 'n1'])
  run.end()
  run.end()
  assert.deepEqual(run.pump(), [], 'what has ended still counts')
  await clock.advance(60)
  const waiting = [...run.waiting][0]!
  assert.deepEqual(run.lanes.shortageOf(waiting), { kind: 'rate', resource: 'api', ms: 40 })
  await clock.advance(39)
  assert.equal(run.isCalled, false)
  await clock.advance(1)
  assert.deepEqual(run.answer(), ['n2', 'n3'])
  await clock.advance(100)
  assert.deepEqual(run.answer(), ['n4'])
  assert.equal(clock.pending, 0)
})

test('K3 a rate whose window moves between two readings of the clock is still called back', async () => {
  const { clock, capacity } = newCapacity()
  // A look takes time, as it does on a busy machine.
  let ahead = 0
  const now = clock.now.bind(clock)
  clock.now = () => now() + (ahead += 0.3)
  const run = new FakeRun(capacity, clock, { resources: { api: { limit: 2, per: 1 } } })
  for (let index = 0; index < 200; index++) run.add(`n${index}`, { needs: { api: 1 } })
  run.pump()
  while (run.waiting.size > 0) {
    assert.ok(run.isCalled || clock.pending > 0, `${run.waiting.size} wait, and nothing calls`)
    await clock.advance(1)
    run.answer()
  }
})

test('a short job takes a fraction of a thread', () => {
  const { clock, capacity } = newCapacity({ thread: 1 })
  const run = new FakeRun(capacity, clock)
  const short = { place: 'thread', share: () => 1024, shareKey: 'short' } as const
  for (let i = 0; i < 6; i++) run.add(`short ${i}`, { at: short })
  assert.equal(run.pump().length, 4)
  run.add('long', { at: { place: 'thread' } })
  for (let i = 0; i < 4; i++) run.end()
  assert.deepEqual(run.pump(), ['short 4', 'short 5'])
  run.end()
  run.end()
  assert.deepEqual(run.pump(), ['long'])
})

test('names that exist nowhere are refused; the message names resources and suggests', () => {
  const { clock, capacity } = newCapacity({ resources: { gpu: 1 } })
  const run = new FakeRun(capacity, clock, { resources: { db: 1, tenant: { each: 1 } } })
  assert.throws(
    () => run.add('a', { needs: { dbb: 1 } }),
    /needs\.dbb.*`resources` \(db, tenant, gpu\); did you mean db\?/,
  )
  assert.throws(() => run.add('a', { needs: { slot: 1 } }), /needs\.slot.*\{ loop: 0 \}/)
  assert.throws(() => run.add('a', { needs: { tenant: 1 } }), /a key/)
  assert.throws(() => run.add('a', { needs: { gpu: 2 } }), { code: 'HDL_WOULD_DEADLOCK' })
  assert.throws(() => new FakeRun(capacity, clock, { concurrency: { lop: 1 } as object }), /loop/)
  assert.throws(() => new FakeRun(capacity, clock, { resources: { x: {} as never } }), /each/)
})

test('a lane that nothing waits in or runs for is forgotten where lanes are swept', () => {
  const { clock, capacity } = newCapacity({ resources: { tenant: { each: 1 } } })
  const run = new FakeRun(capacity, clock, { sweep: true })
  for (let i = 0; i < 100; i++) {
    run.add(`n${i}`, { needs: { tenant: `t${i}` } })
    run.pump()
    run.end()
  }
  const item = run.add('again', { needs: { tenant: 't1' } })
  assert.deepEqual(run.pump(), ['again'])
  run.end()
  run.lanes.enqueue(item)
  assert.equal(run.pump()[0], 'again', 'an entry that is tried again finds its lane again')
})

test('K5: elements with 100,000 keys leave no lanes behind, and limits for each key hold throughout', () => {
  const { clock, capacity } = newCapacity()
  const run = new FakeRun(capacity, clock, { resources: { tenant: { each: 1 }, db: 40 } })
  const node = run.add('node', { needs: { tenant: 'kept' } })
  const endAll = (): void => {
    while (run.started.length > 0) run.end()
  }
  let most = 0
  for (let index = 0; index < 100_000; index++) {
    // Each key twice in a row: the second waits for the first.
    const tenant = `t${index >> 1}`
    run.add(`element ${index}`, { needs: { tenant, db: 1 }, isOnce: true })
    run.pump()
    most = Math.max(most, run.lanes.count)
    if (run.started.length < 40) continue
    const running = run.started.map(({ lane }) => lane.needs!['tenant'])
    assert.equal(new Set(running).size, running.length)
    endAll()
  }
  endAll()
  run.pump()
  endAll()
  assert.ok(most <= 50, `${most} lanes at a time`)
  assert.equal(run.waiting.size, 0)
  // The default lane, and that of the node, which may be tried again.
  assert.equal(run.lanes.count, 2)
  run.lanes.enqueue(node)
  assert.deepEqual(run.pump(), ['node'])
})
