import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Tenant, TenantLine, weigh, type TenantEntry } from '../../src/admission/tenant-line.ts'
import { Capacity } from '../../src/capacity/capacity.ts'
import type { Lane } from '../../src/capacity/lane.ts'
import { Lanes } from '../../src/capacity/lanes.ts'
import type { Needs } from '../../src/graph/job.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

class Work implements TenantEntry<Work> {
  list: object | undefined
  previous: Work | undefined
  next: Work | undefined
  readyOrder = 0
  readonly depth = 0
  lane: Lane<Work>
  readonly owner: Tenant<Work>
  readonly since: number
  readonly #number: number

  constructor(owner: Tenant<Work>, lane: Lane<Work>, number: number, since: number) {
    this.owner = owner
    this.lane = lane
    this.since = since
    this.#number = number
  }

  get name(): string {
    return `${this.owner.name}${this.#number}`
  }
}

function setUp(options: { aging?: number; maxRunning?: number } = {}) {
  const lanes = new Lanes<Work>({
    capacity: new Capacity({ resources: { gpu: 100 } }),
    clock: new VirtualClock(),
    concurrency: Infinity,
    resources: {},
    aging: options.aging ?? 1000,
    sinceOf: ({ since }) => since,
    onRoom: () => undefined,
    newLine: () => new TenantLine(options.maxRunning ?? Infinity),
    sweep: true,
  })
  let arrivals = 0
  const add = (owner: Tenant<Work>, priority = 1, since = 0, needs: Needs = {}): Work => {
    const work = new Work(owner, lanes.laneFor(needs, priority), arrivals++, since)
    lanes.enqueue(work)
    return work
  }
  /** Starts the best one; it runs until `end`. */
  const start = (): string | undefined => {
    const work = lanes.pick()
    if (work === undefined) return undefined
    work.owner.running++
    ;(work.lane.line as TenantLine<Work>).serve(work.owner)
    weigh(work.owner, lanes)
    return work.name
  }
  const end = (owner: Tenant<Work>): void => {
    owner.running--
    weigh(owner, lanes)
  }
  return { lanes, add, start, end }
}

const tenant = (name: string, weight = 1): Tenant<Work> => new Tenant(name, weight)

test('F1 S33: entries are first in, first out inside a priority, also at the same instant', () => {
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

test('F2: long work counts as long as it runs, so permits are shared, not starts', () => {
  const { add, start, end } = setUp()
  const long = tenant('l')
  const short = tenant('s')
  for (let i = 0; i < 20; i++) {
    add(long)
    add(short)
  }
  // Four run; jobs of the short tenant end at once, jobs of the long one stay.
  for (let i = 0; i < 4; i++) start()
  assert.deepEqual([long.running, short.running], [2, 2])
  for (let i = 0; i < 10; i++) {
    end(short)
    assert.match(start()!, /^s/)
  }
})

test('F3 S34: the first of a lane is overtaken only by entries that arrive less than priority × aging after it', () => {
  for (const [arrival, first] of [
    [299, 'p1'],
    [300, 'p0'],
    [301, 'p0'],
  ] as const) {
    const { add, start } = setUp({ aging: 100 })
    const p = tenant('p')
    add(p, 3, 0)
    add(p, 0, arrival)
    assert.equal(start(), first, `arrival ${arrival}`)
  }
})

test('F3: without aging a smaller priority is always first', () => {
  const { add, start } = setUp({ aging: Infinity })
  const p = tenant('p')
  add(p, 3, 0)
  add(p, 0, 1e9)
  assert.deepEqual([start(), start()], ['p1', 'p0'])
})

test('F4: a tenant at its running limit is passed over, and is next again when something ends', () => {
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

test('S39: resumed and moved entries are sorted in by their arrival', () => {
  const { add, lanes, start } = setUp()
  const p = tenant('p')
  const background = add(p, 5)
  add(p, 1)
  const other = add(p, 1)
  lanes.remove(background)
  background.lane = lanes.laneFor({}, 1)
  lanes.enqueueFirst(background)
  lanes.remove(other)
  assert.deepEqual([start(), start(), start()], ['p0', 'p1', undefined])
})

test('F5: nothing is left when the last entry has gone', () => {
  const { add, lanes, start } = setUp()
  const tenants = ['a', 'b'].map((name) => tenant(name))
  for (let i = 0; i < 40; i++) add(tenants[i % 2]!, i % 10, i, i % 3 === 0 ? { gpu: 1 } : {})
  lanes.remove(add(tenants[0]!))
  while (start() !== undefined) continue
  assert.equal(lanes.size, 0)
  assert.ok(tenants.every(({ queues }) => queues.size === 0))
})
