/**
 * H303 release not on all paths: a flag or lock is taken, a suspension follows that may fail, and it
 * is given back only when all goes well. After one failure no caller gets in any more.
 */
import type { Access, Block, GuardEvent } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { Suspension } from '../ir/program.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { inFinally, scoped, singleFlight } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function releaseNotOnAllPaths(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    for (const group of host.written) {
      const { location } = group
      if (!group.isChecked || location.scope === 'parameter') continue
      if (!group.isSharedIn(host.unit)) continue
      const draft = flag(model, host, location, group.accessesOfMany(host.unit))
      if (draft !== undefined) drafts.push(draft)
    }
    const lost = lock(host)
    if (lost !== undefined) drafts.push(lost)
  }
  return drafts
}

/** An in-flight flag: taken here after a check, cleared here behind a suspension. */
function flag(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
): Draft | undefined {
  const set = accesses.find(
    ({ access }) => access.op === 'write' && access.value?.literal === 'true' && !access.isInitial,
  )
  const clears = accesses.filter(({ access }) => access.op === 'write' && access.kind === 'null')
  if (set === undefined || clears.length === 0) return undefined
  const isClear = new Set(clears.map(({ access }) => access))
  // In a cleanup block of any kind: the author has thought of failures.
  if (clears.some(({ block }) => block.cleanup !== 0)) return undefined
  const failing = failingSuspension(host, set, (event) => isClear.has(event as Access))
  if (failing === undefined) return undefined
  if (model.reservations.at(host.unit, failing) !== location) return undefined
  return describe(host, location.name, [location], set.access, clears[0]!.access, failing, false)
}

/** A suspension between taking and giving back whose failure leaves the function. */
function failingSuspension(
  host: Host,
  from: { readonly block: Block; readonly index: number },
  isEnd: (event: Located['access'] | GuardEvent | Suspension) => boolean,
): Suspension | undefined {
  let failing: Suspension | undefined
  const answer = ask(host.graph, from, {
    states: 2,
    start: 0,
    step(event, state, block) {
      if (event.op === 'suspend') {
        const canFail = event.kind === 'await' || event.kind === 'yield'
        const isCaught = block.next.some(
          (next) => next.cleanup !== 0 && next.cleanup !== block.cleanup,
        )
        if (canFail && !isCaught && failing === undefined) failing = event
        return canFail && !isCaught ? 1 : state
      }
      if (event.op === 'call') return state
      if (isEnd(event)) return state === 1 ? found : stop
      return state
    },
  })
  return answer === undefined ? undefined : failing
}

/** `await lock.acquire()` … `lock.release()` without `finally`. */
function lock(host: Host): Draft | undefined {
  for (const { event, block, index } of host.guards) {
    if (event.op !== 'acquire' || event.isScoped) continue
    const releases = host.guards.filter(
      (one) => one.event.op === 'release' && one.event.guard === event.guard,
    )
    const [first] = releases
    if (first === undefined || releases.some((one) => one.block.cleanup === 2)) continue
    const failing = failingSuspension(
      host,
      afterAcquire(host, block, index),
      (one) => one.op === 'release' && one.guard === event.guard,
    )
    if (failing === undefined) continue
    const release = first.event
    return describe(host, textOf(event, 30), [], event, release, failing, true)
  }
  return undefined
}

/** The suspension that waits for the lock itself is not in the window. */
function afterAcquire(host: Host, block: Block, index: number): { block: Block; index: number } {
  const last = block.events.at(-1)
  const [next] = block.next
  if (last?.op === 'suspend' && next !== undefined && index >= block.events.length - 2)
    return { block: host.graph.blocks[next.id]!, index: -1 }
  return { block, index }
}

function describe(
  host: Host,
  name: string,
  locations: readonly Location[],
  taken: Place,
  given: Place,
  failing: Suspension,
  isLock: boolean,
): Draft {
  return {
    rule: 'H303',
    class: 'lifetime-mismatch',
    level: isLock ? 'warning' : 'note',
    message: `${host.unit.namedAs} gives ${name} back only when \`${textOf(failing, 40)}\` succeeds: after one failure it stays taken`,
    locations,
    check: taken,
    act: given,
    suspensions: [failing],
    steps: [
      { task: 'A', text: `takes it: \`${textOf(taken)}\``, at: taken },
      { task: 'A', text: `waits: \`${textOf(failing)}\``, at: failing, isCheckpoint: true },
      {
        task: 'A',
        text: 'the wait fails, and the function ends without giving it back',
        at: failing,
      },
      { task: 'B', text: 'finds it taken, now and for ever', at: taken },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'it is shared',
      'the release is in no finally or catch',
    ],
    fixes: [
      inFinally(name, [3, 4]),
      isLock ? scoped([2, 4]) : singleFlight(name, 'this.work()', [1, 4]),
    ],
  }
}

export const releaseNotOnAllPathsPage: RulePage = {
  id: 'H303',
  name: 'release-not-on-all-paths',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'A guard is not released, or a flag not cleared, when the work in between throws.',
  what: `A lock is acquired or an in-flight flag is set, a suspension or a call that may throw follows,
and the release is not in a finally block.`,
  why: `One failure, and nobody gets in again: the queue stands still until the process is restarted.`,
  race: source`
    export class Refresher {
      #isRunning = false
      #value = ''

      async refresh(): Promise<void> {
        if (this.#isRunning) return
        this.#isRunning = true
        this.#value = await fetchValue()
        this.#isRunning = false
      }

      get value(): string {
        return this.#value
      }
    }
  `,
  steps: [
    ['A', 'refresh(): sets the flag'],
    ['A', 'fetchValue() rejects: refresh() ends, the flag stays set'],
    ['B', 'refresh(): returns at once, now and for ever'],
  ],
  window: [2, 3],
  fixed: source`
    export class Refresher {
      #isRunning = false
      #value = ''

      async refresh(): Promise<void> {
        if (this.#isRunning) return
        this.#isRunning = true
        try {
          this.#value = await fetchValue()
        } finally {
          this.#isRunning = false
        }
      }

      get value(): string {
        return this.#value
      }
    }
  `,
  fixes: [
    'Release in finally.',
    'Use a guard that releases itself: using permit = await lock.acquire().',
    'Give the work to the guard: lock.runExclusive(() => …).',
  ],
}
