/**
 * H207 handed out before it is ready: an object is stored, a suspension makes it ready, and a second call
 * finds it there and returns or uses it at once. Storing the object first keeps a second one from being
 * made, but it says "ready" too early; the promise of it would not.
 */
import type { Access, Block, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, Suspension } from '../ir/program.ts'
import { ownerIn } from '../ir/splice.ts'
import { isMade, isRunning, isTimer } from '../meaning/lifecycle.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import { dependsOn } from './check-then-act.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { publishWhenReady, storePromise } from './fixes.ts'
import { isCheck } from './host.ts'
import type { Host, Located } from './host.ts'
import { hasStrongReach, overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { inSameRegion } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function handedOutUnready(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!host.isWriting || overlapOf(host.unit) === undefined) continue
    for (const group of host.checked) {
      if (!group.isStored || !group.isSharedIn(host.unit)) continue
      const { location } = group
      if (location.scope === 'external') continue
      if (location.scope === 'parameter' && !isComponentState(location)) continue
      const draft = from(model, host, location, group.accessesOfMany(host.unit))
      if (draft !== undefined) drafts.push(draft)
    }
  }
  return drafts
}

function from(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
): Draft | undefined {
  for (const store of accesses) {
    if (!isObject(store.access)) continue
    const check = accesses.find(
      (one) =>
        isCheck(one) &&
        ownerIn(one.access) === host.unit &&
        inSameRegion(host.graph, one, (event) => event === store.access) !== undefined,
    )
    const outcome = check?.access.checks.find(({ whenPresent }) => whenPresent !== undefined)
    if (check === undefined || outcome?.whenPresent === undefined || outcome.branch.isLoop) continue
    if (!dependsOn(host.graph, outcome.branch, store.block)) continue
    const ready = readyingOf(model, host, location, store)
    if (ready === undefined) continue
    const handed = endsAtOnce(host, outcome.whenPresent, outcome.branch.blocks)
    if (!handed || isStartedBy(store.access, ready.site)) continue
    return describe(host, location, check.access, store.access, ready)
  }
  return undefined
}

/** An object that was made here, and not a promise, a timer or an answer that was waited for. */
function isObject(access: Access): boolean {
  const { op, kind, value, isInitial } = access
  if (op !== 'write' || isInitial || (kind !== 'set' && kind !== 'fill')) return false
  if (value === undefined || value.isAwaited === true || !isMade(access)) return false
  if (isRunning(value) || isTimer(value)) return false
  return value.constructed !== undefined
}

interface Readying {
  readonly site: CallSite
  readonly suspension: Suspension
}

/** A method of the object is called, and waited for. */
function readyingOf(
  model: Model,
  host: Host,
  location: Location,
  store: Located,
): Readying | undefined {
  let site: CallSite | undefined
  const isOn = (event: Event): event is CallSite =>
    event.op === 'call' &&
    event.receiver?.canonical === location &&
    !model.lifecycles.isRelease(event)
  const answer = ask(host.graph, store, {
    states: 1,
    start: 0,
    step(event) {
      if (isOn(event)) site = event
      if (event.op !== 'suspend') return 0
      return site !== undefined && event.joins.includes(site) ? found : stop
    },
  })
  const suspension = answer?.event
  return suspension?.op === 'suspend' && site !== undefined ? { site, suspension } : undefined
}

/** The call that makes it ready is in the same expression that stores it. */
function isStartedBy(store: Access, site: CallSite): boolean {
  return store.start <= site.start && site.end <= store.end
}

/** From here the function ends without a suspension: it takes the object as it is. */
function endsAtOnce({ graph }: Host, block: Block, barred: readonly Block[]): boolean {
  let isOpen = true
  ask(
    graph,
    { block, index: -1 },
    {
      states: 1,
      start: 0,
      step(event) {
        if (event.op !== 'suspend') return 0
        isOpen = false
        return found
      },
      cross: (_from, to) => (barred.includes(to) ? stop : 0),
    },
  )
  return isOpen
}

function describe(
  host: Host,
  location: Location,
  check: Access,
  store: Access,
  { site, suspension }: Readying,
): Draft {
  const { name } = location
  const overlap = overlapOf(host.unit)
  return {
    rule: 'H207',
    class: 'stale-reference',
    level: hasStrongReach(host.unit) ? 'error' : 'warning',
    message: `${host.unit.namedAs} stores ${name} and then waits until it is ready (\`${textOf(site, 40)}\`): a second call finds it there and takes it before it is`,
    locations: [location],
    check,
    act: store,
    suspensions: [suspension],
    conflict: check,
    steps: [
      { task: 'A', text: `makes and stores it: \`${textOf(store)}\``, at: store },
      {
        task: 'A',
        text: `waits until it is ready: \`${textOf(suspension)}\``,
        at: suspension,
        isCheckpoint: true,
      },
      { task: 'B', text: `\`${textOf(check)}\`: it is there, and is taken as it is`, at: check },
      { task: 'A', text: 'only now it is ready', at: suspension },
    ],
    window: [1, 3],
    evidence: [
      overlap === undefined ? 'it can be called twice' : `may overlap with itself: ${overlap.text}`,
      `the one that made it waits for \`${textOf(site, 40)}\` first`,
    ],
    fixes: [storePromise(name, [3, 4]), publishWhenReady(name, [1, 2])],
  }
}

export const handedOutUnreadyPage: RulePage = {
  id: 'H207',
  name: 'handed-out-unready',
  class: 'stale-reference',
  level: 'error',
  summary: 'An object is stored before it is ready, and a second caller gets it like that.',
  what: `A function checks whether an object exists. If not, it makes one, stores it, and waits for a
method of it that makes it ready. If it exists, the function ends without waiting. So a second call
during the wait gets an object that is not ready.`,
  why: `The second caller sends on a connection that is not open, reads a table that is not loaded, or gets
"not initialised" from a library. It goes wrong only when two callers come at start-up, so tests with one
caller never show it.`,
  race: source`
    export class Store {
      #client: Client | undefined

      async client(): Promise<Client> {
        if (this.#client) return this.#client
        this.#client = new Client()
        await this.#client.connect()
        return this.#client
      }
    }
  `,
  steps: [
    ['A', 'client(): stores a new Client and waits for connect()'],
    ['B', 'client(): finds it and returns it at once'],
    ['B', 'sends a query on a connection that is not open'],
    ['A', 'connect() is through'],
  ],
  window: [1, 4],
  fixed: source`
    export class Store {
      #client: Promise<Client> | undefined

      client(): Promise<Client> {
        this.#client ??= this.#open()
        return this.#client
      }

      async #open(): Promise<Client> {
        const client = new Client()
        await client.connect()
        return client
      }
    }
  `,
  fixes: [
    'Keep the promise of the object that is ready, and let every caller wait for it.',
    'Store the object when it is ready, under a guard that keeps a second one from being made.',
  ],
}
