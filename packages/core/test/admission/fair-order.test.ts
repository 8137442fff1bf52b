import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairOrder, Tenant, type Orderable } from '../../src/admission/fair-order.ts'
import type { Needs } from '../../src/graph/job.ts'

class Entry implements Orderable<Entry> {
  list: object | undefined
  previous: Entry | undefined
  next: Entry | undefined
  line: Orderable<Entry>['line']
  priority = 0
  rank = 0
  readonly owner: Tenant<Entry>
  readonly needs: Needs
  readonly since: number
  readonly order: number

  constructor(owner: Tenant<Entry>, order: number, since: number, needs: Needs) {
    this.owner = owner
    this.order = order
    this.since = since
    this.needs = needs
  }

  get name(): string {
    return `${this.owner.name}${this.order}`
  }
}

function setUp(options: { aging?: number; maxRunning?: number } = {}) {
  const order = new FairOrder<Entry>(options.aging ?? 1000, options.maxRunning ?? Infinity)
  let arrivals = 0
  const add = (
    owner: Tenant<Entry>,
    priority = 1,
    since = 0,
    needs: Needs = { slot: 1 },
  ): Entry => {
    const entry = new Entry(owner, arrivals++, since, needs)
    order.add(entry, priority)
    return entry
  }
  /** Starts the best one; it runs until `end`. */
  const start = (): string | undefined => {
    const [best] = order.candidates()
    if (best === undefined) return undefined
    order.take(best)
    best.owner.running++
    order.weigh(best.owner)
    return best.name
  }
  const end = (owner: Tenant<Entry>): void => {
    owner.running--
    order.weigh(owner)
  }
  return { order, add, start, end }
}

const tenant = (name: string, weight = 1): Tenant<Entry> => new Tenant(name, weight)

test('F1 S33: FIFO inside a priority, also at the same instant and with payloads nobody can compare', () => {
  const { add, start } = setUp()
  const a = tenant('a')
  for (let i = 0; i < 1000; i++) add(a)
  for (let i = 0; i < 1000; i++) assert.equal(start(), `a${i}`)
  assert.equal(start(), undefined)
})

test('F2: a tenant that floods the queue does not delay one that asks for little', () => {
  const { add, start } = setUp()
  const flood = tenant('f')
  const small = tenant('s')
  for (let i = 0; i < 100; i++) add(flood)
  assert.deepEqual([start(), start()], ['f0', 'f1'])
  add(small)
  assert.equal(start(), 's100')
})

test('F2: with equal running numbers the tenants take turns', () => {
  const { add, start, end } = setUp()
  const tenants = ['a', 'b', 'c'].map((name) => tenant(name))
  for (let i = 0; i < 3; i++) for (const each of tenants) add(each)
  const started: string[] = []
  for (let i = 0; i < 9; i++) {
    started.push(start()!)
    end(tenants.find(({ running }) => running > 0)!)
  }
  assert.deepEqual(started.map((name) => name[0]).join(''), 'abcabcabc')
})

test('F2: shares follow the weights', () => {
  const { add, start } = setUp()
  const heavy = tenant('h', 3)
  const light = tenant('l', 1)
  for (let i = 0; i < 40; i++) {
    add(heavy)
    add(light)
  }
  const started = Array.from({ length: 20 }, start)
  assert.equal(started.filter((name) => name?.startsWith('h')).length, 15)
})

test('F2: long work counts as long as it runs, so slots are shared, not starts', () => {
  const { add, start, end } = setUp()
  const long = tenant('l')
  const short = tenant('s')
  for (let i = 0; i < 20; i++) {
    add(long)
    add(short)
  }
  // Four slots; what the short tenant starts ends at once, what the long one starts stays.
  for (let i = 0; i < 4; i++) start()
  assert.deepEqual([long.running, short.running], [2, 2])
  for (let i = 0; i < 10; i++) {
    end(short)
    assert.match(start()!, /^s/)
  }
})

test('F3 S34: a candidate is overtaken only by what arrives less than priority × aging after it', () => {
  for (const [arrival, first] of [
    [299, 'p1'],
    [300, 'p0'],
    [301, 'p0'],
  ] as const) {
    const { add, order } = setUp({ aging: 100 })
    const p = tenant('p')
    add(p, 3, 0)
    add(p, 0, arrival)
    assert.equal(order.candidates()[0]!.name, first, `arrival ${arrival}`)
  }
})

test('F3: without aging a smaller priority is always first', () => {
  const { add, order } = setUp({ aging: Infinity })
  const p = tenant('p')
  add(p, 3, 0)
  add(p, 0, 1e9)
  assert.deepEqual(
    order.candidates().map(({ name }) => name),
    ['p1', 'p0'],
  )
})

test('F4: a tenant at its running limit is no candidate, and is one again when something ends', () => {
  const { add, start, end } = setUp({ maxRunning: 1 })
  const a = tenant('a', 100)
  const b = tenant('b', 1)
  add(a)
  add(a)
  add(b)
  assert.equal(start(), 'a0')
  assert.equal(start(), 'b2', 'although a has the greater weight')
  assert.equal(start(), undefined)
  end(a)
  assert.equal(start(), 'a1')
})

test('S38: candidates of other needs come along, each group with its best', () => {
  const { add, order } = setUp()
  const p = tenant('p')
  add(p, 1, 0, { gpu: 1, slot: 1 })
  add(p, 1, 0, { slot: 1, gpu: 1 })
  add(p, 1, 0)
  assert.deepEqual(
    order.candidates().map(({ name }) => name),
    ['p0', 'p2'],
    'needs are equal in any order',
  )
})

test('S39: a moved entry changes its lane, and the old lane goes when it was the last', () => {
  const { add, order, start } = setUp()
  const p = tenant('p')
  const background = add(p, 5, 0)
  add(p, 1, 0)
  order.move(background, 0)
  assert.equal(order.candidates().length, 2)
  assert.deepEqual([start(), start(), start()], ['p0', 'p1', undefined])
})

test('F5: nothing is left when the last entry has gone', () => {
  const { add, order, start } = setUp()
  const tenants = ['a', 'b'].map((name) => tenant(name))
  for (let i = 0; i < 40; i++) add(tenants[i % 2]!, i % 10, i, i % 3 === 0 ? {} : { slot: 1 })
  const removed = add(tenants[0]!)
  order.remove(removed)
  assert.equal(order.footprint, 2 + 4)
  while (start() !== undefined) continue
  assert.equal(order.footprint, 0)
  assert.ok(tenants.every(({ lanes }) => lanes.size === 0))
})
