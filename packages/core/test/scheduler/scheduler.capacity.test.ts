import assert from 'node:assert/strict'
import test from 'node:test'
import { Capacity } from '../../src/capacity/capacity.ts'
import { isError } from '../../src/errors.ts'
import { Bench } from './kit.ts'

test('a pipeline drains: deeper nodes start first, so the first row is stored early', async () => {
  const b = new Bench({
    concurrency: { loop: 4, thread: 2 },
    capacity: new Capacity({ thread: 2 }),
  })
  const rows = 50
  for (let i = 0; i < rows; i++) {
    b.scheduler.add(`fetch ${i}`)
    b.scheduler.add(`parse ${i}`, { after: [`fetch ${i}`], place: 'thread' })
    b.scheduler.add(`store ${i}`, { after: [`parse ${i}`] })
  }
  const ms: Readonly<Record<string, number>> = { fetch: 10, parse: 10, store: 1 }
  const stored: number[] = []
  const result = await b.clock.runUntil(
    b.scheduler.run(async (name) => {
      const [stage] = name.split(' ') as [string]
      await new Promise<void>((done) => b.clock.setTimer(ms[stage]!, done))
      if (stage === 'store') stored.push(b.clock.now())
    }),
  )
  assert.equal(result.ok, true)
  assert.ok(stored[0]! <= result.duration / 10, `${stored[0]} of ${result.duration} ms`)
})

test('depth counts also for nodes whose dependencies are added later', async () => {
  const b = new Bench({ concurrency: 1 })
  b.scheduler.add('leaf', { after: ['middle'] })
  b.scheduler.add('other')
  b.scheduler.add('root')
  b.scheduler.add('middle', { after: ['root'] })
  b.scheduler.add('last')
  const order: string[] = []
  await b.scheduler.run((name) => void order.push(name))
  assert.deepEqual(order, ['other', 'root', 'middle', 'leaf', 'last'])
})

test('a needs function is asked when the node becomes ready, before each attempt', async () => {
  const b = new Bench({ concurrency: 9, retries: 1, resources: { tenant: { each: 1 } } })
  let asked = 0
  b.scheduler.add('who')
  for (const name of ['a', 'b']) {
    b.scheduler.add(name, {
      after: ['who'],
      needs: (resultOf) => {
        asked++
        return { tenant: resultOf('who') as string }
      },
    })
  }
  const run = b.scheduler.run(b.work)
  await b.clock.settle()
  assert.equal(asked, 0)
  await b.finish('who', 'acme')
  assert.deepEqual(b.started, ['who', 'a'])
  assert.equal(b.scheduler.explain('b').text, 'tenant acme: 1 of 1 in use by "a"')
  await b.fail('a')
  assert.equal(b.started.at(-1), 'b')
  await b.finish('b')
  await b.clock.advance(1_000)
  await b.finish('a')
  assert.equal((await run).ok, true)
  assert.equal(asked, 3)
})

test('a needs function may be asynchronous; one that throws or names nothing fails its node alone', async () => {
  const b = new Bench({ resources: { db: 1 } })
  b.scheduler.add('later', { needs: async () => ({ db: 1 }) })
  b.scheduler.add('throws', {
    needs: () => {
      throw new Error('no tenant')
    },
  })
  b.scheduler.add('rejects', { needs: () => Promise.reject(new Error('no tenant yet')) })
  b.scheduler.add('unknown', { needs: () => ({ dbb: 1 }) })
  b.scheduler.add('skipped', { needs: () => new Promise(() => undefined) })
  const run = b.scheduler.run(() => undefined)
  await b.clock.settle()
  b.scheduler.remove('skipped')
  const result = await run
  assert.deepEqual(result.succeeded, ['later'])
  assert.match(String(result.failed.get('throws')), /no tenant/)
  assert.match(String(result.failed.get('rejects')), /no tenant yet/)
  assert.ok(isError(result.failed.get('unknown'), 'HDL_BAD_OPTION'))
  assert.deepEqual(result.skipped, ['skipped'])
})

test('two runs share the permits of the process, and a paused one takes none', async () => {
  const capacity = new Capacity({ resources: { gpu: 1 } })
  const one = new Bench({ capacity })
  const two = new Bench({ capacity })
  for (const name of ['a', 'b']) one.scheduler.add(name, { needs: { gpu: 1 } })
  for (const name of ['c', 'd']) two.scheduler.add(name, { needs: { gpu: 1 } })
  const runs = [one.scheduler.run(one.work), two.scheduler.run(two.work)]
  await one.clock.settle()
  assert.deepEqual([...one.started, ...two.started], ['a'])
  two.scheduler.pause()
  await one.finish('a')
  assert.deepEqual(one.started, ['a', 'b'])
  two.scheduler.resume()
  await one.finish('b')
  assert.deepEqual(two.started, ['c'])
  await two.finish('c')
  await two.finish('d')
  for (const result of await Promise.all(runs)) assert.equal(result.ok, true)
  assert.deepEqual(capacity.stats()['gpu']!.used, 0)
})

test('a run that is cancelled leaves no place in the line of the process', async () => {
  const capacity = new Capacity({ loop: 1 })
  const one = new Bench({ capacity })
  const two = new Bench({ capacity })
  one.add({ a: [] })
  two.add({ b: [] })
  const runs = [one.scheduler.run(one.work), two.scheduler.run(two.work)]
  await one.clock.settle()
  two.scheduler.cancel()
  await two.clock.settle()
  assert.equal(capacity.stats()['loop']!.waiting, 0)
  await one.finish('a')
  await Promise.all(runs)
})

test('K4: a run that was not started keeps no other run waiting for permits of the process', async () => {
  const capacity = new Capacity({ resources: { db: 1 } })
  const [first, idle, last] = [0, 1, 2].map(() => new Bench({ capacity }))
  for (const each of [first!, idle!, last!]) each.scheduler.add('query', { needs: { db: 1 } })
  const running = first!.scheduler.run(first!.work)
  await first!.clock.settle()
  // Ready while the permit is in use, in a run that is never started.
  idle!.scheduler.add('another', { needs: { db: 1 } })
  const waiting = last!.scheduler.run(last!.work)
  await last!.clock.settle()
  assert.deepEqual(last!.started, [])
  await first!.finish('query')
  await last!.clock.settle()
  assert.deepEqual(last!.started, ['query'])
  await last!.finish('query')
  await Promise.all([running, waiting])
})
