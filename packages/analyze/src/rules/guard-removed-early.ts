/**
 * H301 guard removed from its registry while other callers may hold it or wait for it: the next caller makes a
 * new guard and enters beside them. A guard has to outlive the work it guards.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { keepGuard, mutex } from './fixes.ts'
import type { Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

const guardName = /(?:lock|mutex|semaphore)(?:s|es|Map|ByKey|ById)?$/i
const guardClass = /(?:Mutex|Semaphore|Lock)$/

export function guardRemovedEarly(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    for (const { location, accesses } of host.written) {
      if (location.scope !== 'entry' || !holdsGuards(location, accesses)) continue
      const drop = accesses.find(({ access }) => access.op === 'write' && access.kind === 'drop')
      if (drop === undefined || isConditional(drop)) continue
      const taken = accesses.find(({ access }) => access.op === 'read' || access.kind === 'fill')
      const way =
        taken === undefined
          ? undefined
          : overSuspension(host.graph, taken, (event) => event === drop.access)
      if (taken === undefined || way === undefined) continue
      drafts.push(describe(location, taken.access, drop.access, way.suspensions))
    }
  }
  return drafts
}

function holdsGuards(location: Location, accesses: readonly Located[]): boolean {
  if (guardName.test(location.field)) return true
  return accesses.some(({ access }) => guardClass.test(access.value?.constructed?.name ?? ''))
}

/** The code looks before removing: at waiters, at the lock, at the identity. */
function isConditional(drop: Located): boolean {
  return drop.graph.blocks.some(
    (block) =>
      block.branch !== undefined &&
      (block.branch.whenTrue === drop.block || block.branch.whenFalse === drop.block) &&
      !block.branch.isLoop,
  )
}

function describe(
  location: Location,
  taken: Access,
  drop: Access,
  suspensions: Draft['suspensions'],
): Draft {
  const overlap = overlapOf(taken.owner)
  const name = location.name
  return {
    rule: 'H301',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${drop.owner.namedAs} removes the guard ${name} although other callers may wait for it: the next caller makes a new guard and enters beside them`,
    locations: [location],
    check: taken,
    act: drop,
    suspensions,
    conflict: taken,
    steps: [
      { task: 'A', text: `takes the guard: \`${textOf(taken)}\``, at: taken },
      {
        task: 'B',
        text: 'finds the same guard and waits for it',
        at: suspensions[0] ?? taken,
        isCheckpoint: true,
      },
      { task: 'A', text: `releases and removes it: \`${textOf(drop)}\``, at: drop },
      {
        task: 'B',
        text: 'gets the guard that is no longer in the registry',
        at: suspensions[0] ?? taken,
      },
      {
        task: 'A',
        text: 'a third call makes a new guard and enters at once: two are inside',
        at: taken,
      },
    ],
    window: [2, 4],
    evidence: [
      overlap === undefined ? 'it is shared' : `may overlap with itself: ${overlap.text}`,
      'the removal is unconditional',
    ],
    fixes: [keepGuard([3, 5]), mutex(name, [1, 5])],
  }
}

export const guardRemovedEarlyPage: RulePage = {
  id: 'H301',
  name: 'guard-removed-early',
  class: 'lifetime-mismatch',
  level: 'error',
  summary: 'A guard is taken out of its registry while other callers may hold it or wait for it.',
  what: `A lock that lives in a map is deleted from it without knowing that nobody holds it or waits
for it, or before the state that it guards is torn down.`,
  why: `The next caller finds no lock and makes a new one. Two tasks now hold "the" lock of one key at
the same time, and each is sure to be alone.`,
  race: source`
    import { Mutex } from 'async-mutex'

    const locks = new Map<string, Mutex>()
    const totals = new Map<string, number>()

    export async function add(key: string, amount: number): Promise<void> {
      const lock = locks.get(key) ?? new Mutex()
      locks.set(key, lock)
      const release = await lock.acquire()
      try {
        const total = totals.get(key) ?? 0
        await audit(key, amount)
        totals.set(key, total + amount)
      } finally {
        release()
        locks.delete(key)
      }
    }
  `,
  steps: [
    ['A', 'holds the lock of k'],
    ['B', 'waits for the same lock'],
    ['A', 'releases it and deletes it from the registry'],
    ['B', 'holds the old lock and reads the total'],
    ['C', 'finds no lock, makes a new one, and reads the same total'],
    ['B', 'writes; C writes: one amount is lost'],
  ],
  window: [3, 6],
  fixed: source`
    import { Mutex } from 'async-mutex'

    const locks = new Map<string, Mutex>()
    const totals = new Map<string, number>()

    export async function add(key: string, amount: number): Promise<void> {
      const lock = locks.get(key) ?? new Mutex()
      locks.set(key, lock)
      const release = await lock.acquire()
      try {
        const total = totals.get(key) ?? 0
        await audit(key, amount)
        totals.set(key, total + amount)
      } finally {
        release()
        if (!lock.isLocked()) locks.delete(key)
      }
    }
  `,
  fixes: [
    'Delete the lock only when nobody holds it and nobody waits.',
    'Count the users of each lock, from before they wait.',
    'Use a lock that is made for keys, and forgets the unused ones itself.',
  ],
}
