import assert from 'node:assert/strict'
import test from 'node:test'
import { Capacity } from '../../src/capacity/capacity.ts'
import { Bench } from './kit.ts'

test('explain names the exact blocker at every stage', async () => {
  const b = new Bench({ concurrency: 2, retries: 1, resources: { gpu: 1 } }).add({
    core: [],
    hold: [],
  })
  b.scheduler.add('plugin', { after: ['core', 'late'] })
  b.scheduler.add('late', { after: ['core'] })
  b.scheduler.add('queued')
  const run = b.scheduler.run(b.work)
  await b.clock.advance(12_000)

  assert.deepEqual(b.scheduler.explain('core'), {
    name: 'core',
    state: 'running',
    why: 'running',
    ms: 12_000,
    text: 'has been running for 12.0 s',
  })
  const plugin = b.scheduler.explain('plugin')
  assert.equal(plugin.text, 'waits for "core" (running 12.0 s), "late" (waiting)')
  assert.ok(plugin.why === 'dependencies' && plugin.on.length === 2)

  const queued = b.scheduler.explain('queued')
  assert.equal(queued.text, 'concurrency: 2 of 2 in use by "core", "hold"')
  assert.ok(queued.why === 'permits' && queued.holders.includes('hold'))

  b.scheduler.pause()
  assert.equal(b.scheduler.explain('queued').text, 'the run is paused')

  await b.fail('core')
  b.scheduler.resume()
  assert.deepEqual(b.scheduler.explain('core').text, 'attempt 2 starts in 1.0 s')

  await b.clock.advance(1_000)
  await b.finish('hold')
  await b.fail('core')
  assert.equal(b.scheduler.explain('plugin').text, 'blocked by "core"')
  assert.throws(() => b.scheduler.explain('plugn'), /Did you mean "plugin"\?/)
  await b.finish('queued')
  assert.equal(b.scheduler.explain('queued').text, 'succeeded')
  await run
})

test('explain lists a hundred dependencies of many, and counts all', () => {
  const names = Array.from({ length: 250 }, (_, i) => `n${i}`)
  const b = new Bench().add(Object.fromEntries(names.map((name) => [name, []])))
  b.add({ end: names })
  const end = b.scheduler.explain('end')
  assert.equal(end.text, 'waits for "n0" (ready), "n1" (ready), "n2" (ready) and 247 more')
  assert.ok(end.why === 'dependencies' && end.on.length === 100 && end.total === 250)
})

test('explain reads the first thousands of dependencies, and counts all', async () => {
  const names = Array.from({ length: 5_000 }, (_, i) => `n${i}`)
  const b = new Bench({ concurrency: 1 }).add(Object.fromEntries(names.map((name) => [name, []])))
  b.add({ end: names })
  const texts: string[] = []
  await b.scheduler.run((name) => {
    if (name === 'n1' || name === 'n3000') texts.push(b.scheduler.explain('end').text)
  })
  assert.deepEqual(texts, [
    'waits for "n1" (running 0 ms), "n2" (ready), "n3" (ready) and 4996 more',
    'waits for 2000 others',
  ])
})

test('explain counts the entries before a node by strict priority when aging is Infinity', async () => {
  const b = new Bench({ concurrency: 1, aging: Infinity })
  b.scheduler.add('a', { priority: 0 })
  b.scheduler.add('low', { priority: 3 })
  b.scheduler.add('urgent', { priority: 0 })
  b.scheduler.add('b')
  const ahead: unknown[] = []
  await b.scheduler.run((name) => {
    if (name !== 'a') return
    b.scheduler.resize('concurrency', 2)
    for (const node of ['urgent', 'b', 'low']) ahead.push(b.scheduler.explain(node).text)
  })
  assert.deepEqual(ahead, ['is next, 0 before it', 'is next, 1 before it', 'is next, 2 before it'])
})

test('explain counts the entries before a node, over all priorities', async () => {
  const b = new Bench({ concurrency: 1 })
  b.scheduler.add('a')
  b.scheduler.add('low', { priority: 3 })
  b.scheduler.add('b')
  b.scheduler.add('c')
  const texts: string[] = []
  await b.scheduler.run((name) => {
    if (name !== 'a') return
    // Permits are free, and nothing has been started with them yet.
    b.scheduler.concurrency = 2
    for (const other of ['low', 'b', 'c']) texts.push(b.scheduler.explain(other).text)
  })
  assert.deepEqual(texts, ['is next, 2 before it', 'is next, 0 before it', 'is next, 1 before it'])
})

test('explain names a dependency once that was given twice', () => {
  const b = new Bench().add({ a: [], b: ['a', 'a'] })
  assert.equal(b.scheduler.explain('b').text, 'waits for "a" (ready)')
})

test('explain gives the time of the next start of a rate, and the holders of the permits of a key', async () => {
  const b = new Bench({
    concurrency: 9,
    resources: { api: { limit: 1, per: 100 }, tenant: { each: 2 } },
  })
  for (const name of ['call 1', 'call 2']) b.scheduler.add(name, { needs: { api: 1 } })
  for (const name of ['x', 'y', 'z']) b.scheduler.add(name, { needs: { tenant: 'acme' } })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  await b.clock.advance(60)
  assert.deepEqual(b.scheduler.explain('call 2'), {
    name: 'call 2',
    state: 'ready',
    why: 'rate',
    resource: 'api',
    ms: 40,
    text: 'rate api: next in 40 ms',
  })
  assert.deepEqual(b.scheduler.explain('z'), {
    name: 'z',
    state: 'ready',
    why: 'permits',
    resource: 'tenant',
    key: 'acme',
    capacity: 2,
    used: 2,
    holders: ['x', 'y'],
    text: 'tenant acme: 2 of 2 in use by "x", "y"',
  })
  await b.clock.advance(40)
  assert.equal(b.scheduler.stateOf('call 2'), 'running')
  for (const name of ['call 1', 'call 2', 'x', 'y', 'z']) await b.finish(name)
  assert.equal((await run).ok, true)
  assert.equal(b.clock.pending, 0)
})

test('explain names other runs that hold permits of the process', async () => {
  const capacity = new Capacity({ loop: 1 })
  const [one, two] = [new Bench({ capacity }), new Bench({ capacity })]
  one.add({ a: [] })
  two.add({ b: [] })
  const runs = [one.scheduler.run(one.work), two.scheduler.run(two.work)]
  await one.clock.settle()
  assert.equal(two.scheduler.explain('b').text, 'loop: 1 of 1 in use by other runs')
  await one.finish('a')
  await two.finish('b')
  await Promise.all(runs)
})

test('explain names permits that are reserved for priority 0', async () => {
  const b = new Bench({ concurrency: 9, resources: { gpu: { permits: 1, reserved: 1 } } })
  for (const name of ['a', 'b']) b.scheduler.add(name, { needs: { gpu: 1 } })
  for (const name of ['u', 'v']) b.scheduler.add(name, { needs: { gpu: 1 }, priority: 0 })
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.deepEqual(b.started, ['u', 'v'])
  const ordinary = b.scheduler.explain('a')
  assert.equal(ordinary.text, 'gpu: 1 of 1 in use by "u", "v"; 1 more is reserved for priority 0')
  assert.ok(ordinary.why === 'permits' && ordinary.reserved === 1)
  b.scheduler.add('w', { needs: { gpu: 1 }, priority: 0 })
  assert.equal(
    b.scheduler.explain('w').text,
    'gpu: 2 of 2 in use by "u", "v"; 1 of them reserved for priority 0',
  )
  b.scheduler.cancel({ abort: true })
  for (const name of ['u', 'v']) await b.finish(name)
  await run
})

test('explain names the share of this server and those of other servers where a limit holds for the cluster', async () => {
  const capacity = new Capacity({ resources: { license: { permits: 4, scope: 'cluster' } } })
  const { meter } = capacity.clusterResources()[0]!
  const b = new Bench({ capacity, concurrency: 9 })
  for (const name of ['a', 'b', 'c']) b.scheduler.add(name, { needs: { license: 1 } })
  meter.capacity = 0
  meter.elsewhere = { servers: 1, permits: 4 }
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.equal(
    b.scheduler.explain('a').text,
    "license: this server has 0 of the cluster's 4, 1 other server has 4",
  )
  meter.capacity = 2
  meter.elsewhere = { servers: 2, permits: 2 }
  capacity.clusterResources()[0]!.recheck()
  await b.clock.settle()
  assert.deepEqual(b.started, ['a', 'b'])
  assert.deepEqual(b.scheduler.explain('c'), {
    name: 'c',
    state: 'ready',
    why: 'permits',
    resource: 'license',
    capacity: 2,
    used: 2,
    holders: ['a', 'b'],
    cluster: { limit: 4, elsewhere: 2, servers: 2, isSure: true },
    text: 'license: 2 of 2 in use by "a", "b"; this server has 2 of the cluster\'s 4, 2 other servers have 2',
  })
  meter.isTrusted = () => false
  assert.equal(
    b.scheduler.explain('c').text,
    'license: 2 of 2 in use by "a", "b"; the store has not confirmed this server\'s share of the cluster\'s 4',
  )
  meter.isTrusted = () => true
  for (const name of ['a', 'b', 'c']) await b.finish(name)
  assert.equal((await run).ok, true)
})
