/**
 * H407 waiters left: promises of waiting callers are kept in a list or a map, and the function that takes
 * everything down neither settles nor even reads them. Their callers wait for ever.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { isWaiter } from './check-then-subscribe.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { isTakenWhole } from './drained-then-reset.ts'
import { bounded, settleWaiters } from './fixes.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { baseOf } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function waitersLeft(model: Model): Draft[] {
  const drafts: Draft[] = []
  const seen = new Set<Location>()
  for (const unit of model.program.units) {
    if (unit.graph === undefined) continue
    for (const { location, accesses } of model.hostOf(unit).written) {
      const waiter = accesses.find(({ access }) => isWaiter(access))?.access
      if (waiter === undefined) continue
      const container = (location.scope === 'entry' ? location.parent : location)?.canonical
      if (container === undefined || !isComponentState(container) || seen.has(container)) continue
      seen.add(container)
      const draft = from(model, container, waiter)
      if (draft !== undefined) drafts.push(draft)
    }
  }
  return drafts
}

function from(model: Model, container: Location, waiter: Access): Draft | undefined {
  const ends = model.teardowns.of(baseOf(container))
  if (ends.some((one) => touches(model, one, container))) return undefined
  for (const one of ends) {
    if (overlapOf(one) === undefined) continue
    const release = isMarking(model, one)
      ? one.host.calls.find((site) => model.lifecycles.isRelease(site))
      : releaseOfAnswerer(model, one, container, waiter)
    if (release !== undefined) return describe(container, waiter, one, release)
  }
  return undefined
}

/**
 * It gives back what the waiting function has just asked, so no answer comes any more, and nothing in the program
 * ever goes through all waiters.
 */
function releaseOfAnswerer(
  model: Model,
  end: FunctionUnit,
  container: Location,
  waiter: Access,
): CallSite | undefined {
  const asked = model
    .hostOf(waiter.owner.host)
    .calls.flatMap(({ event: { receiver } }) =>
      receiver !== undefined && receiver.depth > 0 ? [receiver.canonical] : [],
    )
  const release = end.host.calls.find(
    (site) =>
      model.lifecycles.isRelease(site) &&
      site.receiver !== undefined &&
      site.receiver.canonical !== container &&
      asked.includes(site.receiver.canonical),
  )
  return release !== undefined && !isEverTakenWhole(model, container) ? release : undefined
}

function isEverTakenWhole(model: Model, container: Location): boolean {
  return model.summaries.uses.hostsOf(container).some((unit) =>
    model
      .hostOf(unit)
      .accessesOf(container)
      .some(
        ({ access }) =>
          !access.isInitial &&
          (access.kind === 'reset' || access.kind === 'set' || isTakenWhole(access)),
      ),
  )
}

/** Whether it marks the component as ended. */
function isMarking(model: Model, unit: FunctionUnit): boolean {
  const { before } = model.summaries(unit)
  return before.locations.some(
    (location, at) =>
      before.effects[at]?.store?.access.value?.literal === 'true' &&
      model.latches.isLatch(location),
  )
}

/** It, or a function it calls or starts, reads or empties the container. */
function touches(model: Model, method: FunctionUnit, container: Location): boolean {
  const { before, after } = model.summaries(method)
  if (before.get(container) !== undefined || after.get(container) !== undefined) return true
  const isPart = (location: Location): boolean => location.parent?.canonical === container
  return before.locations.some(isPart) || after.locations.some(isPart)
}

function describe(
  container: Location,
  waiter: Access,
  method: FunctionUnit,
  release: CallSite,
): Draft {
  const { name } = container
  return {
    rule: 'H407',
    class: 'missing-guard',
    level: 'warning',
    message: `${method.namedAs} takes everything down and leaves the callers that wait in ${name}: ${waiter.owner.namedAs} never returns to them`,
    locations: [container],
    check: release,
    act: release,
    suspensions: [],
    conflict: waiter,
    steps: [
      {
        task: 'A',
        text: `waits for its turn: \`${textOf(waiter)}\``,
        at: waiter,
        isCheckpoint: true,
      },
      {
        task: 'B',
        text: `${method.namedAs} takes everything down: \`${textOf(release)}\``,
        at: release,
      },
      { task: 'A', text: 'waits for ever: nothing is left that would wake it', at: waiter },
    ],
    window: [0, 2],
    evidence: [
      `${method.namedAs} does not check ${name}`,
      overlapOf(method)?.text ?? 'it can run while other callers wait',
    ],
    fixes: [settleWaiters(name, [2, 3]), bounded([1, 3])],
  }
}

export const waitersLeftPage: RulePage = {
  id: 'H407',
  name: 'waiters-left',
  class: 'missing-guard',
  level: 'warning',
  summary: 'A shutdown leaves callers waiting whose promises will never be settled.',
  what: `A class keeps the \`resolve\` of waiting callers in a list or map, and has a public method that gives
resources back and sets a flag which says that it has ended. That method does not read or empty the list,
itself or through a callee.`,
  why: `A caller that waits for a connection or an answer when the shutdown comes waits for ever. A request hangs
until its client gives up, and the process does not end.`,
  race: source`
    export class Pool {
      #isClosed = false
      #socket = connect()
      #waiting: (() => void)[] = []

      acquire(): Promise<void> {
        if (this.#isClosed) throw new Error('closed')
        return new Promise((resolve) => {
          this.#waiting.push(resolve)
        })
      }

      release(): void {
        this.#waiting.shift()?.()
      }

      close(): void {
        this.#isClosed = true
        this.#socket.destroy()
      }
    }
  `,
  steps: [
    ['A', 'acquire(): waits in the list'],
    ['B', 'close(): destroys the socket'],
    ['A', 'waits for ever'],
  ],
  window: [1, 3],
  fixed: source`
    export class Pool {
      #isClosed = false
      #socket = connect()
      #waiting: (() => void)[] = []

      acquire(): Promise<void> {
        if (this.#isClosed) throw new Error('closed')
        return new Promise((resolve) => {
          this.#waiting.push(resolve)
        })
      }

      release(): void {
        this.#waiting.shift()?.()
      }

      close(): void {
        this.#isClosed = true
        for (const resolve of this.#waiting.splice(0)) resolve()
        this.#socket.destroy()
      }
    }
  `,
  fixes: ['Reject every waiter in the shutdown.', 'Bound every wait by a time limit or a signal.'],
}
