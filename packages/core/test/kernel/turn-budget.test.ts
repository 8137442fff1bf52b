import assert from 'node:assert/strict'
import test from 'node:test'
import { sliceBudget } from '../../src/kernel/slices.ts'
import { TurnBudget } from '../../src/kernel/turn-budget.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

test('T1 T2: a turn is spent after its time, until I/O has had its chance', async () => {
  const clock = new VirtualClock()
  const ends: boolean[] = []
  const turn = new TurnBudget(clock, (wasSpent) => ends.push(wasSpent))
  assert.equal(turn.isOver(100), false)
  assert.equal(turn.isOver(100 + sliceBudget - 1), false)
  assert.equal(turn.isOver(100 + sliceBudget), true)
  assert.equal(turn.isOver(100), true, 'also for a look with an older time')
  assert.deepEqual([turn.isSpent, turn.startedAt, ends], [true, 100, []])
  await clock.settle()
  assert.deepEqual([turn.isSpent, ends], [false, [true]])
  assert.equal(turn.isOver(200), false)
  await clock.settle()
  assert.deepEqual([turn.startedAt, ends], [200, [true, false]])
})

test('T4 T5: parts on one clock share its turns; a refused part comes first in the next', async () => {
  const clock = new VirtualClock()
  let planned = 0
  const afterIo = clock.afterIo.bind(clock)
  clock.afterIo = (callback) => {
    planned++
    afterIo(callback)
  }
  const ends: string[] = []
  const part = (name: string): TurnBudget =>
    new TurnBudget(clock, (wasSpent) => ends.push(`${name} ${wasSpent}`))
  const [a, b, c] = [part('a'), part('b'), part('c')]
  const apart = new TurnBudget(clock, () => undefined, { isApart: true })
  assert.equal(a.isOver(100), false)
  assert.equal(b.isOver(100 + sliceBudget - 1), false)
  assert.equal(b.isOver(100 + sliceBudget), true, 'the others have used its time')
  assert.equal(c.isOver(100 + sliceBudget), true, 'at its first look')
  assert.equal(apart.isOver(100 + sliceBudget), false)
  assert.equal(planned, 1)
  await clock.settle()
  assert.deepEqual(ends, ['c true', 'a false', 'b true'])
  assert.equal(c.isOver(200), false)
  assert.deepEqual([c.startedAt, planned], [200, 2])
})

test('T4: a part that throws at the end of a turn does not affect the others', async () => {
  const clock = new VirtualClock()
  const planned: (() => void)[] = []
  clock.afterIo = (callback) => void planned.push(callback)
  const ends: string[] = []
  const first = new TurnBudget(clock, () => {
    throw new Error('broken')
  })
  const second = new TurnBudget(clock, () => ends.push('second'))
  first.isOver(0)
  second.isOver(0)
  assert.throws(() => planned.shift()!(), /broken/)
  planned.shift()!()
  assert.deepEqual(ends, ['second'])
})

/** A clock that a test moves while nothing yields, as work on the loop does. */
function steppingClock(): { clock: VirtualClock; move: (ms: number) => void } {
  const clock = new VirtualClock()
  let ahead = 0
  const inner = clock.now.bind(clock)
  clock.now = () => inner() + ahead
  return { clock, move: (ms) => (ahead += ms) }
}

test('T3: calls that take no time share a reading of the clock, at most four of them', () => {
  const { clock, move } = steppingClock()
  const turn = new TurnBudget(clock, () => undefined)
  turn.isOver(turn.now())
  let exact = 0
  for (let call = 0; call < 60; call++) {
    move(0.001)
    if (turn.about() === clock.now()) exact++
  }
  assert.equal(exact, 60, 'exact until the turn has proved to do nothing that takes time')
  let behind = 0
  let most = 0
  let last = 0
  for (let call = 0; call < 400; call++) {
    move(0.001)
    const about = turn.about()
    assert.ok(about >= last, 'never goes back')
    last = about
    behind = about === clock.now() ? 0 : behind + 1
    most = Math.max(most, behind)
  }
  assert.equal(most, 3)
})

test('T3: a call that takes time is noticed within three calls, then every call is exact', () => {
  const { clock, move } = steppingClock()
  const turn = new TurnBudget(clock, () => undefined)
  turn.isOver(turn.now())
  for (let call = 0; call < 200; call++) turn.about()
  const inexact = Array.from({ length: 50 }, () => {
    move(1)
    return turn.about() === clock.now() ? 0 : 1
  })
  assert.ok(inexact.slice(0, 3).reduce<number>((sum, one) => sum + one, 0) <= 3)
  assert.deepEqual(new Set(inexact.slice(3)), new Set([0]))
  move(1)
  assert.equal(turn.now(), clock.now(), 'now() is exact at any time')
})

test('T3: every turn begins with an exact reading', async () => {
  const { clock, move } = steppingClock()
  const turn = new TurnBudget(clock, () => undefined)
  turn.isOver(turn.now())
  for (let call = 0; call < 200; call++) turn.about()
  await clock.settle()
  move(0.001)
  assert.equal(turn.about(), clock.now())
})
