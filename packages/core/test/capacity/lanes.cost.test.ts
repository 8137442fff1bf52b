import assert from 'node:assert/strict'
import test from 'node:test'
import { IndexedHeap } from '../../src/kernel/heap.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { FakeRun, newCapacity } from './kit.ts'

/** How often heaps were asked to restore their order while `act` ran: the cost of a start besides constants. */
function heapMoves(act: () => void): number {
  // oxlint-disable-next-line typescript/unbound-method -- they are called with the heap as `this`
  const { push, remove, update } = IndexedHeap.prototype
  let moves = 0
  const counted = <F extends (this: never, ...args: never[]) => unknown>(original: F): F =>
    function (this: never, ...args: never[]) {
      moves++
      return original.apply(this, args)
    } as F
  Object.assign(IndexedHeap.prototype, {
    push: counted(push),
    remove: counted(remove),
    update: counted(update),
  })
  try {
    act()
  } finally {
    Object.assign(IndexedHeap.prototype, { push, remove, update })
  }
  return moves
}

/** Two entries for each key, one at a time for each, with this many at once: the moves of one start. */
function movesOfAStart(keys: number, options: { readonly db?: number } = {}): number {
  const { clock, capacity } = newCapacity()
  const resources = { tenant: { each: 1 }, ...(options.db !== undefined && { db: options.db }) }
  const run = new FakeRun(capacity, clock, { concurrency: 8, resources })
  const needs = options.db === undefined ? {} : { db: 1 }
  for (let round = 0; round < 2; round++) {
    for (let key = 0; key < keys; key++) {
      run.add(`${round} ${key}`, { needs: { ...needs, tenant: `t${key}` } })
    }
  }
  run.pump()
  // Each lane that lacks `db` is parked once, a thousand at a time: that belongs to its enqueue().
  for (let i = 0; i < 50; i++) {
    run.end()
    run.pump()
  }
  const starts = 500
  const moves = heapMoves(() => {
    for (let i = 0; i < starts; i++) {
      run.end()
      run.pump()
    }
  })
  return moves / starts
}

test('K5 the cost of a start does not grow with the number of keys', () => {
  const few = movesOfAStart(1_000)
  const many = movesOfAStart(20_000)
  assert.ok(many <= few + 1, `${few} and ${many} moves`)
})

test('K5 a start costs as little where all keys need one more scarce resource', () => {
  const few = movesOfAStart(1_000, { db: 4 })
  const many = movesOfAStart(20_000, { db: 4 })
  assert.ok(many <= few + 1, `${few} and ${many} moves`)
})

/** A third of the keys wants `db`, a third `api`, a third both: the moves of a start, over the whole run. */
function movesBesideTwo(keys: number, permits: number): number {
  const { clock, capacity } = newCapacity()
  const resources = { tenant: { each: 1 }, db: permits, api: permits }
  const run = new FakeRun(capacity, clock, { concurrency: 64, resources })
  const kinds = [{ db: 1 }, { api: 1 }, { db: 1, api: 1 }]
  for (let key = 0; key < keys; key++) {
    run.add(`${key}`, { needs: { ...kinds[key % 3], tenant: `t${key}` } })
  }
  run.pump()
  const random = seededRandom(7)
  const moves = heapMoves(() => {
    while (run.started.length > 0) {
      // Ends in any order, like jobs.
      run.end(run.started[Math.floor(random.next() * run.started.length)])
      run.pump()
    }
  })
  assert.equal(run.waiting.size, 0)
  return moves / keys
}

for (const permits of [1, 4]) {
  test(`K5 a start costs as little where keys need one of two scarce resources, or both: ${permits} of each`, () => {
    const few = movesBesideTwo(500, permits)
    const many = movesBesideTwo(4_000, permits)
    assert.ok(many <= 1.5 * few, `${few} and ${many} moves`)
  })
}
