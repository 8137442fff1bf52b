import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lookout } from '../../src/sqlite/lookout.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'

/** Each look takes 0.05 ms; messages arrive at their time. */
class Rig {
  now = 0
  looks = 0
  readonly arrivals: number[] = []
  readonly lookout: Lookout<number>

  constructor(cores = 2) {
    const clock = Object.assign(new VirtualClock(), { now: () => this.now })
    this.lookout = new Lookout(clock, cores, () => {
      this.looks++
      this.now += 0.05
      return this.arrivals[0]! <= this.now ? this.arrivals.shift() : undefined
    })
  }

  /** Looks once more, and says how often. */
  next(): readonly [found: number | undefined, looks: number] {
    this.looks = 0
    const found = this.lookout.next()
    return [found, this.looks]
  }

  wokenAt(now: number): void {
    this.now = now
    this.lookout.onWoken()
  }
}

test('a thread that was woken after a long time checks once', () => {
  const rig = new Rig()
  rig.wokenAt(10)
  assert.deepEqual(rig.next(), [undefined, 1])
  rig.wokenAt(20)
  assert.deepEqual(rig.next(), [undefined, 1])
})

test('while messages follow each other closely, polling finds them', () => {
  const rig = new Rig()
  rig.next()
  rig.wokenAt(rig.now + 0.1)
  const arrival = rig.now + 0.08
  rig.arrivals.push(arrival)
  assert.deepEqual(rig.next(), [arrival, 2])
})

test('looking ends after a moment, and one that was in vain is the last', () => {
  const rig = new Rig()
  rig.next()
  rig.wokenAt(rig.now + 0.1)
  const [found, looks] = rig.next()
  assert.equal(found, undefined)
  assert.ok(looks > 2 && looks < 7, `${looks} looks`)
  assert.deepEqual(rig.next(), [undefined, 1])
})

test('on a single core the sender needs the processor', () => {
  const rig = new Rig(1)
  rig.next()
  rig.wokenAt(rig.now + 0.1)
  assert.deepEqual(rig.next(), [undefined, 1])
})
