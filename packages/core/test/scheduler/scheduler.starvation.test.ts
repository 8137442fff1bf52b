import assert from 'node:assert/strict'
import test from 'node:test'
import type { Clock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { sliceBudget } from '../../src/kernel/slices.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'

/** A clock on which every reading takes 10 µs, and which notes how long each turn lasted. */
class WorkClock implements Clock {
  #now = 0
  #turnStarted = 0
  longestTurn = 0

  now(): number {
    this.#now += 0.01
    this.longestTurn = Math.max(this.longestTurn, this.#now - this.#turnStarted)
    return this.#now
  }

  wallTime(): number {
    return this.#now
  }

  setTimer(): { cancel(): void } {
    return { cancel: () => undefined }
  }

  afterIo(callback: () => void): void {
    setImmediate(() => {
      this.#turnStarted = this.#now
      callback()
    })
  }
}

async function longestTurn(build: (s: Scheduler) => void, work: () => unknown): Promise<number> {
  const clock = new WorkClock()
  // One of the graphs has names that are never added.
  const kernel = { clock, random: systemRandom }
  const s = new Scheduler({ concurrency: 64, unknown: 'ignore', kernel })
  build(s)
  await new Promise<void>((done) => clock.afterIo(done))
  clock.longestTurn = 0
  await s.run(work)
  return clock.longestTurn
}

// Room for the 64 steps, with two readings of the clock each, between two checks of the guard.
const bound = sliceBudget + 2

const chain = (s: Scheduler): void => {
  for (let i = 0; i < 20_000; i++) s.add(`n${i}`, i === 0 ? {} : { after: [`n${i - 1}`] })
}
const fan = (s: Scheduler): void => {
  for (let i = 0; i < 20_000; i++) s.add(`n${i}`, i === 0 ? {} : { after: ['n0'] })
}
const flat = (s: Scheduler): void => {
  for (let i = 0; i < 20_000; i++) s.add(`n${i}`)
}

for (const [name, build] of Object.entries({ chain, fan, flat })) {
  test(`I7 starvation guard: I/O gets its turn while a ${name} of no-op nodes runs`, async () => {
    const turn = await longestTurn(build, async () => undefined)
    assert.ok(turn <= bound, `a turn lasted ${turn} ms`)
  })

  test(`I7 starvation guard: also while a ${name} fails at its first node`, async () => {
    const throws = (): never => {
      throw new Error('no')
    }
    const turn = await longestTurn(build, throws)
    assert.ok(turn <= bound, `a turn lasted ${turn} ms`)
  })
}

test('I7 starvation guard: also while 20,000 waiting nodes are skipped', async () => {
  const cancel = (s: Scheduler): void => {
    fan(s)
    s.cancel()
  }
  const turn = await longestTurn(cancel, async () => undefined)
  assert.ok(turn <= bound, `a turn lasted ${turn} ms`)
})

test('I7 starvation guard: also while 20,000 running nodes are notified of a hard cancel', async () => {
  const clock = new WorkClock()
  const kernel = { clock, random: systemRandom }
  const s = new Scheduler({ concurrency: Infinity, kernel })
  flat(s)
  let started = 0
  let told = 0
  const run = s.run(
    (_name, { signal }) =>
      new Promise<void>((_resolve, reject) => {
        started++
        signal.addEventListener('abort', () => {
          told++
          reject(signal.reason as Error)
        })
        if (started < 20_000) return
        clock.afterIo(() => {
          clock.longestTurn = 0
          s.cancel({ abort: true })
        })
      }),
  )
  const { cancelled } = await run
  assert.equal(told, 20_000)
  assert.equal(cancelled.length, 20_000)
  // Nodes that are notified end in the same turn.
  assert.ok(clock.longestTurn <= 2 * bound, `a turn lasted ${clock.longestTurn} ms`)
})

test('I7 starvation guard: also while 20,000 names that never came are taken as satisfied', async () => {
  const ghosts = (s: Scheduler): void => {
    for (let i = 0; i < 20_000; i++) s.add(`n${i}`, { after: [`ghost${i}`] })
  }
  const turn = await longestTurn(ghosts, async () => undefined)
  // The first nodes start in the turn in which the last names are settled.
  assert.ok(turn <= 2 * bound, `a turn lasted ${turn} ms`)
})
