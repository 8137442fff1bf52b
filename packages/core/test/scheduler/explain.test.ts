import assert from 'node:assert/strict'
import test from 'node:test'
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
  assert.deepEqual(b.scheduler.explain('core').text, 'attempt 1 starts in 1.0 s')

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

test('explain looks at the first thousands of dependencies, and counts all', async () => {
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

test('explain counts what is before a node, over all priorities', async () => {
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
