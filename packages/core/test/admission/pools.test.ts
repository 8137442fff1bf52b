import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pools } from '../../src/admission/pools.ts'
import { withCode } from '../sync/support.ts'

test('S36 P3: priority 0 takes general permits first and reserved ones after, others never', () => {
  const pools = new Pools({ permits: 3, reserved: 1 }, {})
  const take = (priority: number) => {
    pools.beginRound()
    return pools.tryTake({ slot: 1 }, priority)
  }
  const urgent = take(0)
  assert.deepEqual(pools.stats()['slot'], {
    permits: 3,
    reserved: 1,
    available: 1,
    availableReserved: 1,
  })
  const background = take(1)
  assert.equal(take(1), undefined)
  const onReserved = take(0)
  assert.equal(take(0), undefined)
  pools.giveBack(onReserved!)
  assert.equal(take(1), undefined, 'it went back to the reserved ones')
  pools.giveBack(urgent!)
  assert.ok(take(1))
  pools.giveBack(background!)
})

test('S36 P3: an older background entry that is short does not hold up priority 0', () => {
  const pools = new Pools({ permits: 2, reserved: 1 }, {})
  pools.beginRound()
  pools.tryTake({ slot: 1 }, 1)
  pools.beginRound()
  assert.equal(pools.tryTake({ slot: 1 }, 1), undefined)
  assert.ok(pools.tryTake({ slot: 1 }, 0))
})

test('S38 P2: who is short of something scarce holds no slot', () => {
  const pools = new Pools(2, { gpu: 1 })
  pools.beginRound()
  assert.ok(pools.tryTake({ gpu: 1, slot: 1 }, 1))
  pools.beginRound()
  assert.equal(pools.tryTake({ slot: 1, gpu: 1 }, 1), undefined)
  assert.ok(pools.tryTake({ slot: 1 }, 1), 'the slot is for the next')
})

test('P1: nobody behind takes what the one before waits for', () => {
  const pools = new Pools(8, { gpu: 2 })
  pools.beginRound()
  const one = pools.tryTake({ gpu: 1 }, 1)!
  pools.beginRound()
  assert.equal(pools.tryTake({ gpu: 2 }, 1), undefined)
  assert.equal(pools.tryTake({ gpu: 1 }, 1), undefined, 'a light one would starve the heavy one')
  pools.giveBack(one)
  pools.beginRound()
  assert.ok(pools.tryTake({ gpu: 2 }, 1))
})

test('P1: nobody behind takes reserved permits that priority 0 waits for', () => {
  const pools = new Pools({ permits: 4, reserved: 2 }, {})
  pools.beginRound()
  pools.tryTake({ slot: 1 }, 1)
  pools.beginRound()
  assert.equal(pools.tryTake({ slot: 4 }, 0), undefined)
  assert.equal(pools.tryTake({ slot: 1 }, 0), undefined)
  assert.equal(pools.tryTake({ slot: 1 }, 1), undefined)
})

test('P1: what was claimed on the way to a short kind is kept for the one who waits', () => {
  const pools = new Pools(1, { gpu: 1 })
  pools.beginRound()
  pools.tryTake({ slot: 1 }, 1)
  pools.beginRound()
  assert.equal(
    pools.tryTake({ gpu: 1, slot: 1 }, 1),
    undefined,
    'short of a slot, first for the gpu',
  )
  assert.equal(pools.tryTake({ gpu: 1 }, 1), undefined)
})

test('needs that could never be met are told at once', () => {
  const pools = new Pools({ permits: 2, reserved: 1 }, { gpu: 1 })
  pools.check('It', { gpu: 1, slot: 2 }, 0)
  pools.check('It', {}, 9)
  assert.throws(() => pools.check('It', { slot: 2 }, 1), withCode('HDL_WOULD_DEADLOCK'))
  assert.throws(() => pools.check('It', { gpu: 2 }, 0), withCode('HDL_WOULD_DEADLOCK'))
  assert.throws(() => pools.check('It', { gpus: 1 }, 0), /did you mean gpu/)
  assert.throws(() => pools.check('It', { gpu: -1 }, 0), withCode('HDL_BAD_OPTION'))
})

test('options are checked', () => {
  assert.throws(() => new Pools(0, {}), withCode('HDL_BAD_OPTION'))
  assert.throws(() => new Pools({ permits: 1, reserved: 1 }, {}), withCode('HDL_BAD_OPTION'))
  assert.throws(() => new Pools(1, { slot: 2 }), withCode('HDL_BAD_OPTION'))
})
