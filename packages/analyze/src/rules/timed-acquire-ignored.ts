/** H302: the answer of a timed acquire is not checked, so the work runs without the guard. */
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, scoped } from './fixes.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

const timed = /^#?(?:try_?(?:acquire|lock|enter|take)|acquireWithTimeout|waitOne|tryWait)/i

export function timedAcquireIgnored(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hostsOf(model.calls.matching(timed))) {
    for (const { event: site } of host.calls) {
      if (!timed.test(site.name) || !(site.isDiscarded || site.isFloating)) continue
      const suspension = host.unit.suspensions.find((one) => one.joins.includes(site))
      drafts.push({
        rule: 'H302',
        class: 'lifetime-mismatch',
        level: 'warning',
        message: `${site.owner.namedAs} does not check whether \`${textOf(site)}\` got the guard: after the time limit it continues without it`,
        locations: site.receiver === undefined ? [] : [site.receiver.canonical],
        check: site,
        act: site,
        suspensions: suspension === undefined ? [] : [suspension],
        steps: [
          { task: 'B', text: 'holds the guard for longer than the limit', at: site },
          {
            task: 'A',
            text: `\`${textOf(site)}\` gives up and answers false`,
            at: site,
            isCheckpoint: true,
          },
          {
            task: 'A',
            text: 'continues as if it had the guard, and releases a guard that it does not hold',
            at: site,
          },
        ],
        window: [1, 2],
        evidence: [overlapOf(host.unit)?.text ?? 'it is shared', 'the answer is thrown away'],
        fixes: [scoped([2, 3]), mutex('the work', [2, 3])],
      })
    }
  }
  return drafts
}

export const timedAcquireIgnoredPage: RulePage = {
  id: 'H302',
  name: 'timed-acquire-ignored',
  class: 'lifetime-mismatch',
  level: 'error',
  summary: 'A guard is requested with a time limit, and the answer is not checked.',
  what: `The result of an acquire that may fail (with a time limit, or without waiting) is ignored, and
the code continues as if the guard were held.`,
  why: `Under load, which is when the lock matters, the time limit passes and every caller enters.`,
  race: source`
    import type { Semaphore } from './semaphore.ts'

    export class Account {
      readonly #lock: Semaphore

      constructor(lock: Semaphore) {
        this.#lock = lock
      }

      async withdraw(amount: number): Promise<void> {
        await this.#lock.tryAcquire(1_000)
        try {
          await book(amount)
        } finally {
          this.#lock.release()
        }
      }
    }
  `,
  steps: [
    ['A', 'holds the lock, and books'],
    ['B', 'waits a second; tryAcquire() gives false'],
    ['B', 'continues without the lock: two bookings at once'],
    ['B', 'releases a lock that A holds'],
  ],
  window: [2, 4],
  fixed: source`
    import type { Semaphore } from './semaphore.ts'

    export class Account {
      readonly #lock: Semaphore

      constructor(lock: Semaphore) {
        this.#lock = lock
      }

      async withdraw(amount: number): Promise<void> {
        if (!(await this.#lock.tryAcquire(1_000))) throw new Error('busy, try again')
        try {
          await book(amount)
        } finally {
          this.#lock.release()
        }
      }
    }
  `,
  fixes: [
    'Look at the answer, and refuse the work when the guard is not held.',
    'Use an acquire that throws when its time is over.',
  ],
}
