import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Capacity } from '../../src/capacity/capacity.ts'
import { sixLevels } from '../../src/admission/load-levels.ts'
import { AdmissionQueue, type Admitted, type Reservation } from '../../src/admission/queue.ts'
import type { Needs } from '../../src/graph/job.ts'
import { testKernel } from '../sync/support.ts'

const tenantName = fc.constantFrom('a', 'b', 'c')
const priority = fc.integer({ min: 0, max: 9 })
const nth = fc.nat({ max: 15 })
const kinds: readonly Needs[] = [{}, { gpu: 1 }]

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('reserve' as const), tenantName, priority }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('fill' as const), nth, kind: fc.nat({ max: 1 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('take' as const) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('finish' as const), nth }) },
  fc.record({ do: fc.constant('release' as const), nth }),
  fc.record({ do: fc.constant('remove' as const), nth }),
  fc.record({ do: fc.constant('move' as const), nth, priority }),
  fc.record({ do: fc.constant('advance' as const), by: fc.integer({ min: 1, max: 200 }) }),
)

interface Queued {
  readonly entry: Admitted<number>
  readonly tenant: string
  readonly kind: number
  readonly since: number
  readonly order: number
  priority: number
}

/** The same order, found by looking at everything. */
class Model {
  readonly queued: Queued[] = []
  readonly running = new Map<string, number>()
  readonly #turns = new Map<string, number>()
  readonly #aging: number
  readonly #maxRunning: number
  #turn = 0

  constructor(aging: number, maxRunning: number) {
    this.#aging = aging
    this.#maxRunning = maxRunning
  }

  #lane(each: Queued): string {
    return `${each.tenant} ${each.kind} ${each.priority}`
  }

  /** A lane gets its turn when its first entry comes. */
  settle(): void {
    const lanes = new Set(this.queued.map((each) => this.#lane(each)))
    for (const lane of this.#turns.keys()) if (!lanes.has(lane)) this.#turns.delete(lane)
    for (const each of this.queued) {
      const lane = this.#lane(each)
      if (!this.#turns.has(lane)) this.#turns.set(lane, ++this.#turn)
    }
  }

  next(): Queued | undefined {
    const byOrder = this.queued.toSorted((a, b) => a.order - b.order)
    const candidates: Queued[] = []
    for (const kind of [0, 1]) {
      for (let level = 0; level < 10; level++) {
        const heads = new Map<string, Queued>()
        for (const each of byOrder) {
          if (each.kind !== kind || each.priority !== level) continue
          if ((this.running.get(each.tenant) ?? 0) >= this.#maxRunning) continue
          if (!heads.has(each.tenant)) heads.set(each.tenant, each)
        }
        const [fairest] = [...heads.values()].toSorted(
          (a, b) =>
            (this.running.get(a.tenant) ?? 0) - (this.running.get(b.tenant) ?? 0) ||
            this.#turns.get(this.#lane(a))! - this.#turns.get(this.#lane(b))!,
        )
        if (fairest !== undefined) candidates.push(fairest)
      }
    }
    const rank = (each: Queued): number => each.since + each.priority * this.#aging
    return candidates.toSorted((a, b) => rank(a) - rank(b) || a.order - b.order)[0]
  }

  take(each: Queued): void {
    this.#turns.set(this.#lane(each), ++this.#turn)
    this.queued.splice(this.queued.indexOf(each), 1)
    this.running.set(each.tenant, (this.running.get(each.tenant) ?? 0) + 1)
    this.settle()
  }
}

test('I1 I2 I4 I5: any sequence gives the order of the model and keeps the accounts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 80 }),
      fc.constantFrom(50, 1000),
      fc.constantFrom(1, 2, Infinity),
      async (steps, aging, maxRunning) => {
        const kernel = testKernel()
        const capacity = 8
        const tenantCapacity = 5
        const queue = new AdmissionQueue<number>({
          kernel,
          capacity,
          levels: sixLevels,
          aging,
          permits: new Capacity({ resources: { gpu: 100 } }),
          tenants: { capacity: tenantCapacity, running: maxRunning },
        })
        const model = new Model(aging, maxRunning)
        const seats: Reservation<number>[] = []
        const running: Admitted<number>[] = []
        let order = 0
        let refused = 0
        for (const next of steps) {
          const used = seats.length + model.queued.length + running.length
          switch (next.do) {
            case 'reserve': {
              const mine = [...seats, ...model.queued, ...running].filter(
                ({ tenant }) => tenant === next.tenantName,
              ).length
              const seat = queue.tryReserve({ tenant: next.tenantName, priority: next.priority })
              assert.equal(seat === undefined, used >= capacity || mine >= tenantCapacity)
              if (seat === undefined) refused++
              else seats.push(seat)
              break
            }
            case 'fill': {
              const [seat] = seats.splice(next.nth, 1)
              if (seat === undefined) break
              const entry = seat.fill(order, { needs: kinds[next.kind]! })
              const { tenant } = seat
              const since = kernel.clock.now()
              model.queued.push({
                entry,
                tenant,
                kind: next.kind,
                since,
                order,
                priority: seat.priority,
              })
              model.settle()
              order++
              break
            }
            case 'take': {
              const expected = model.next()
              const taken = queue.take()
              assert.equal(taken, expected?.entry, 'I5')
              if (expected === undefined) break
              model.take(expected)
              running.push(expected.entry)
              break
            }
            case 'finish': {
              const [entry] = running.splice(next.nth, 1)
              if (entry === undefined) break
              entry.finish()
              model.running.set(entry.tenant, model.running.get(entry.tenant)! - 1)
              break
            }
            case 'release':
              seats.splice(next.nth, 1)[0]?.release()
              break
            case 'remove': {
              const [removed] = model.queued.splice(next.nth, 1)
              if (removed !== undefined) assert.ok(removed.entry.remove())
              model.settle()
              break
            }
            case 'move': {
              const moved = model.queued[next.nth]
              if (moved === undefined) break
              assert.ok(moved.entry.move(next.priority))
              moved.priority = next.priority
              model.settle()
              break
            }
            case 'advance':
              await kernel.clock.advance(next.by)
          }
          const stats = queue.stats()
          assert.ok(queue.used <= capacity, 'I1')
          assert.deepEqual(
            [stats.reserved, stats.queued, stats.running, stats.rejected],
            [seats.length, model.queued.length, running.length, refused],
          )
          assert.equal(
            stats.admitted,
            queue.used + stats.released + stats.removed + stats.finished,
            'I4',
          )
        }
        for (const seat of seats) seat.release()
        for (const { entry } of model.queued) entry.remove()
        for (const entry of running) entry.finish()
        const { tenants, queuedByPriority } = queue.stats()
        assert.deepEqual([queue.used, tenants, kernel.clock.pending], [0, 0, 0], 'I7')
        assert.ok(queuedByPriority.every((count) => count === 0))
      },
    ),
    { numRuns: 300 },
  )
})

test('the aging bound: with one tenant, work is overtaken only by work that came less than priority × aging later', async () => {
  const arrival = fc.record({
    priority,
    after: fc.integer({ min: 0, max: 80 }),
    takes: fc.nat({ max: 2 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(arrival, { maxLength: 40 }), async (arrivals) => {
      const kernel = testKernel()
      const aging = 50
      const queue = new AdmissionQueue<number>({ kernel, capacity: 100, aging })
      const waiting = new Set<Admitted<number>>()
      const take = (): void => {
        const next = queue.take()
        if (next === undefined) return
        waiting.delete(next)
        for (const older of waiting) {
          const bound = older.since + older.priority * aging
          assert.ok(next.since < bound || next.item < older.item, 'overtaken beyond the bound')
          if (older.priority === next.priority) assert.ok(next.item < older.item, 'FIFO')
        }
        next.finish()
      }
      for (const [i, each] of arrivals.entries()) {
        await kernel.clock.advance(each.after)
        waiting.add(queue.reserve({ priority: each.priority }).fill(i))
        for (let n = 0; n < each.takes; n++) take()
      }
      while (waiting.size > 0) take()
      assert.equal(queue.used, 0)
    }),
  )
})
