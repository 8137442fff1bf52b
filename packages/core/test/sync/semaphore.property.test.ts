import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Semaphore } from '../../src/sync/semaphore.ts'
import { checkLock, type Caller, type Inside } from './lock-model.ts'

interface Kind {
  readonly weight: number
  readonly priority: number
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

function free(inside: readonly Inside<Kind>[], permits: number, reserved: number) {
  const out = sum(inside.map(({ caller }) => caller.kind.weight))
  const outReserved = sum(inside.map((each) => each.reserved))
  return { general: permits - (out - outReserved), reserved: reserved - outReserved }
}

/** All waiters, sorted; the first one when it fits, or priority 0 on reserved permits. */
function next(permits: number, reserved: number, aging: number) {
  const rank = ({ kind, since }: Caller<Kind>): number =>
    aging === Infinity ? kind.priority : since + kind.priority * aging
  return (inside: readonly Inside<Kind>[], waiting: readonly Caller<Kind>[]) => {
    const left = free(inside, permits, reserved)
    const sorted = waiting.toSorted((a, b) => rank(a) - rank(b) || a.id - b.id)
    const [first] = sorted
    if (first === undefined) return undefined
    const { weight, priority } = first.kind
    const fromReserved = Math.max(0, weight - left.general)
    if (fromReserved <= (priority === 0 ? left.reserved : 0)) {
      return { caller: first, reserved: fromReserved }
    }
    const urgent = sorted.find(({ kind }) => kind.priority === 0)
    const mayPass = urgent !== undefined && urgent !== first && urgent.kind.weight <= left.reserved
    return mayPass ? { caller: urgent, reserved: urgent.kind.weight } : undefined
  }
}

for (const { permits, reserved, aging } of [
  { permits: 1, reserved: 0, aging: 20 },
  { permits: 4, reserved: 0, aging: Infinity },
  { permits: 3, reserved: 1, aging: 20 },
  { permits: 3, reserved: 2, aging: 0 },
  { permits: 3, reserved: 2, aging: Infinity },
]) {
  test(`S1 to S6: ${permits} permits, ${reserved} reserved, aging ${aging}`, () =>
    checkLock(
      fc
        .record<Kind>({
          weight: fc.integer({ min: 1, max: permits + reserved }),
          priority: fc.constantFrom(0, 1, 1, 3),
        })
        .filter(({ weight, priority }) => priority === 0 || weight <= permits),
      (kernel) => {
        const semaphore = new Semaphore({ permits, reserved, aging, kernel })
        return {
          acquire: (kind, options) => semaphore.acquire({ ...kind, ...options }),
          tryAcquire: (kind) => semaphore.tryAcquire(kind),
          check: (inside, waiting) => {
            const left = free(inside, permits, reserved)
            assert.ok(left.general >= 0 && left.reserved >= 0, 'S1')
            for (const each of inside) {
              assert.ok(each.caller.kind.priority === 0 || each.reserved === 0, 'S3')
            }
            assert.ok(waiting.length === 0 || inside.length > 0, 'S6')
            assert.deepEqual(semaphore.stats(), {
              permits,
              reserved,
              available: left.general,
              availableReserved: left.reserved,
              waiting: waiting.length,
              waitingUrgent: waiting.filter(({ kind }) => kind.priority === 0).length,
            })
          },
        }
      },
      next(permits, reserved, aging),
    ))
}
