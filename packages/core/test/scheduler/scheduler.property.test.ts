import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import type { NodeContext } from '../../src/scheduler/node-attempt.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'

/** Scenario 59. `HEDDLE_SEEDS=100000 npm test -- scheduler.property` looks further. */
const seeds = Number(process.env['HEDDLE_SEEDS'] ?? 10_000)

/** A world of random callbacks and a random operator around one scheduler, all from one seed. */
class World {
  readonly clock = new VirtualClock()
  readonly #random: () => number
  readonly scheduler: Scheduler
  readonly #after = new Map<string, readonly string[]>()
  readonly #detached = new Set<string>()
  readonly #active = new Set<string>()
  readonly #seen = new Map<string, string>()
  readonly #takesNoPermit = new Set<string>()
  readonly #holdingPermits = new Set<string>()
  /** Timers of the callbacks themselves: those of abandoned attempts outlive the run. */
  ownTimers = 0
  #count = 0

  constructor(seed: number, nodes: number) {
    const random = seededRandom(seed)
    this.#random = () => random.next()
    this.scheduler = new Scheduler({
      concurrency: 1 + this.#below(6),
      retries: this.#below(3),
      retryBaseDelay: this.#below(50),
      timeout: this.#chance(0.3) ? 20 : 600_000,
      cancelGrace: 40,
      abortGrace: 10,
      resources: { gpu: 1 },
      aging: 25,
      kernel: { clock: this.clock, random },
      observer: (event) => {
        if (event.type !== 'node') return
        this.#seen.set(event.name, event.state)
        if (event.state !== 'running') this.#holdingPermits.delete(event.name)
        else if (!this.#takesNoPermit.has(event.name)) this.#holdingPermits.add(event.name)
      },
    })
    for (let i = 0; i < nodes; i++) this.#addNode()
  }

  async play(): Promise<void> {
    const steps = this.#below(12)
    for (let i = 0; i < steps; i++) this.#later(this.#below(80), () => this.#act())
    this.#later(100, () => this.scheduler.resume())
    const result = await this.clock.runUntil(this.scheduler.run(this.work))

    const outcomes = [
      ...result.succeeded,
      ...result.failed.keys(),
      ...result.blocked.keys(),
      ...result.skipped,
      ...result.cancelled,
    ]
    assert.equal(outcomes.length, this.#count, 'I1: every node has an outcome')
    assert.equal(new Set(outcomes).size, this.#count, 'I1: and only one')
    for (const name of outcomes) assert.equal(this.#seen.get(name), result.stateOf(name))
    for (const [name, cause] of result.blocked) {
      assert.notEqual(result.stateOf(cause), 'succeeded', `${name} was blocked by ${cause}`)
    }
    assert.equal(this.clock.pending, this.ownTimers, 'I6: no timer is left')
    const { ready, running, retrying } = this.scheduler.stats()
    assert.deepEqual([ready, running, retrying], [0, 0, 0], 'I6: no entry is left')
  }

  readonly work = (name: string, context: NodeContext): unknown => {
    const { scheduler } = this
    assert.equal(scheduler.state, 'running', 'I4: nothing starts while paused or draining')
    assert.ok(!this.#active.has(name), 'I5: one attempt at a time')
    assert.ok(this.#holdingPermits.size <= (scheduler.concurrency as number), 'I3: the cap is kept')
    for (const dependency of this.#after.get(name)!) {
      if (this.#detached.has(dependency)) continue
      assert.equal(scheduler.stateOf(dependency), 'succeeded', `I2: ${name} after ${dependency}`)
    }
    if (this.#chance(0.1)) throw new Error('at once')
    if (this.#chance(0.3)) return name
    this.#active.add(name)
    return this.#behave(context).finally(() => this.#active.delete(name))
  }

  #behave(context: NodeContext): Promise<void> {
    const fails = this.#chance(0.25)
    const deaf = this.#chance(0.2)
    return new Promise((resolve, reject) => {
      this.#later(this.#below(60), () => (fails ? reject(new Error('later')) : resolve()))
      if (!deaf) context.signal.addEventListener('abort', () => reject(context.signal.reason))
    })
  }

  #act(): void {
    const { scheduler } = this
    const choice = this.#below(9)
    if (scheduler.state === 'finished' || scheduler.state === 'cancelled') return
    if (choice < 2) scheduler.pause()
    else if (choice < 4) scheduler.resume()
    else if (choice < 6) this.#addNode()
    else if (choice < 8) this.#removeNode()
    else if (this.#chance(0.3)) scheduler.cancel()
    else scheduler.concurrency = 1 + this.#below(6)
  }

  #addNode(): void {
    const name = `n${this.#count++}`
    const after: string[] = []
    for (let i = this.#below(4); i > 0 && this.#count > 1; i--) {
      after.push(`n${this.#below(this.#count - 1)}`)
    }
    this.#after.set(name, after)
    const takesNone = this.#chance(0.1)
    const needs = takesNone ? { loop: 0 } : this.#chance(0.1) ? { gpu: 1 } : undefined
    if (takesNone) this.#takesNoPermit.add(name)
    const priority = this.#chance(0.2) ? this.#below(4) : undefined
    assert.equal(
      this.scheduler.add(name, {
        after,
        ...(needs !== undefined && { needs }),
        ...(priority !== undefined && { priority }),
      }),
      true,
    )
  }

  #removeNode(): void {
    const name = `n${this.#below(this.#count + 1)}`
    const dependents = this.#chance(0.5) ? 'detach' : 'block'
    const removed = this.scheduler.remove(name, { dependents })
    if (removed && dependents === 'detach') this.#detached.add(name)
  }

  #later(delay: number, callback: () => void): void {
    this.ownTimers++
    this.clock.setTimer(delay, () => {
      this.ownTimers--
      callback()
    })
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #chance(probability: number): boolean {
    return this.#random() < probability
  }
}

test(`model check over ${seeds} seeds: settles, one outcome each, order and cap kept, nothing left`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.nat({ max: 40 }), (seed, nodes) => new World(seed, nodes).play()),
    { numRuns: seeds },
  )
})

test('model check holds on larger graphs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 100, max: 200 }), (seed, nodes) =>
      new World(seed, nodes).play(),
    ),
    { numRuns: Math.ceil(seeds / 50) },
  )
})
