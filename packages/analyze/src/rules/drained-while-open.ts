/**
 * H408 drained while open: a function that ends something waits for the work that is registered, and only
 * then it removes the listener that registers more (or gives back what that work uses). Work registered
 * during the wait is missed.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { originalOf, ownerIn } from '../ir/splice.ts'
import { targetsOf } from '../summaries/call-order.ts'
import { ask, found } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { isTakenWhole } from './drained-then-reset.ts'
import { markFirst, stopIntakeFirst } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { baseOf, isPartOf, isWithin, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function drainedWhileOpen(model: Model): Draft[] {
  const drafts: Draft[] = []
  const releases = new Set(model.lifecycles.releases)
  for (const host of model.hosts.suspending) {
    if (host.unit.kind === 'constructor' || overlapOf(host.unit) === undefined) continue
    const draft = inHost(model, host, releases)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

/** Facts about a function that ends something: computed once for each function, when needed. */
interface Ending {
  readonly model: Model
  readonly host: Host
  readonly releases: ReadonlySet<CallSite>
  /** Its writes. */
  readonly marks: ReadonlySet<Location>
}

function inHost(model: Model, host: Host, releases: ReadonlySet<CallSite>): Draft | undefined {
  let closedFrom: number | undefined
  let ending: Ending | undefined
  for (const { location, accesses } of host.groups) {
    if (!isComponentState(location)) continue
    const drain = accesses.find(
      ({ access }) => isTakenWhole(access) && ownerIn(access) === host.unit,
    )
    if (drain === undefined) continue
    closedFrom ??= firstClosing(model, host)
    if (closedFrom < drain.access.start) continue
    ending ??= { model, host, releases, marks: marksOf(host) }
    const draft = from(ending, location, drain)
    if (draft !== undefined) return draft
  }
  return undefined
}

function marksOf(host: Host): ReadonlySet<Location> {
  return new Set(
    host.written
      .filter(({ accesses }) => accesses.some(({ access }) => access.op === 'write'))
      .map(({ location }) => location),
  )
}

function from(ending: Ending, registry: Location, drain: Located): Draft | undefined {
  const { host } = ending
  const way = overSuspension(
    host.graph,
    drain,
    (event) => isEnd(ending, event, registry),
    (event, isAfter) =>
      isAfter &&
      (event.op === 'read' || event.op === 'write') &&
      event !== drain.access &&
      isPartOf(event.location.canonical, registry),
  )
  const end = way?.event
  if (way === undefined || end?.op !== 'call' || !isWithin(ownerIn(end), host.unit))
    return undefined
  if (isDrainedAgain(host, way.block, end, registry)) return undefined
  const adder = adderOf(ending, registry, drain, end)
  return adder && describe(host, registry, drain.access, way.suspensions, end, adder)
}

const unlistening = new Set([
  'off',
  'removeListener',
  'removeAllListeners',
  'removeEventListener',
  'unsubscribe',
  'clearInterval',
])

/** The intake is closed, or a resource of the work is released. Elements of the registry are neither. */
function isEnd({ releases }: Ending, event: Event, registry: Location): boolean {
  if (event.op !== 'call') return false
  const { callee } = event
  const isOfElement =
    callee.kind === 'member' &&
    (callee.receiver.within?.some(({ location }) => location.canonical === registry) === true ||
      callee.receiver.location?.scope === 'entry' ||
      callee.receiver.location?.scope === 'parameter')
  if (isOfElement) return false
  return unlistening.has(event.name) || resourceOf(releases, event) !== undefined
}

/** The state of the component that a call gives back. */
function resourceOf(releases: ReadonlySet<CallSite>, site: CallSite): Location | undefined {
  if (site.callee.kind !== 'member' || !releases.has(originalOf(site))) return undefined
  const location = site.callee.receiver.location?.canonical
  return location !== undefined && isComponentState(location) ? location : undefined
}

/** Where it first gives something back, removes a listener, or calls a function that waits. */
function firstClosing(model: Model, host: Host): number {
  let first = Infinity
  for (const { event } of host.calls) {
    // The text of a later callback may stand anywhere.
    if (event.start >= first || event.owner.role === 'later') continue
    const isClosing =
      unlistening.has(event.name) ||
      model.lifecycles.isRelease(event) ||
      targetsOf(event).some((target) => model.summaries(target).suspends !== 'never')
    if (isClosing) first = event.start
  }
  return first
}

/** It reads the registry once more when no more entries can come. */
function isDrainedAgain(
  host: Host,
  block: Located['block'],
  end: CallSite,
  registry: Location,
): boolean {
  const again = ask(
    host.graph,
    { block, index: block.events.indexOf(end) },
    {
      states: 1,
      start: 0,
      step: (event) =>
        event.op === 'read' && isPartOf(event.location.canonical, registry) ? found : 0,
    },
  )
  return again !== undefined
}

/** Another function that registers work at any time, whatever the ending function has marked before. */
function adderOf(
  { model, host, releases, marks }: Ending,
  registry: Location,
  drain: Located,
  end: CallSite,
): Access | undefined {
  const resource = resourceOf(releases, end)
  const refused = new Set<FunctionUnit>([host.unit])
  for (const { access, host: unit } of model.writesOfField(registry.field)) {
    if (access.isInitial || (access.kind !== 'append' && access.kind !== 'fill')) continue
    if (refused.has(unit) || !isPartOf(access.location.canonical, registry)) continue
    if (baseOf(access.location.canonical) !== baseOf(drain.access.location.canonical)) continue
    const isAdder =
      !isWithin(unit, host.unit) &&
      overlapOf(unit) !== undefined &&
      !asksFor(model, unit, marks) &&
      (resource === undefined || isUsedBy(model, unit, resource))
    if (isAdder) return access
    refused.add(unit)
  }
  return undefined
}

/** It refuses work when the ending function has set a mark, itself or in a function that it asks. */
function asksFor(model: Model, unit: FunctionUnit, marks: ReadonlySet<Location>): boolean {
  const other = model.hostOf(unit)
  if (other.checked.some(({ location }) => marks.has(location))) return true
  const asked = new Set(other.linked.flatMap(({ event }) => targetsOf(event)))
  return asked.values().some((target) => {
    const { before } = model.summaries(target)
    return before.locations.some((one) => marks.has(one) && before.get(one)?.check !== undefined)
  })
}

/** A function, or one that it calls, reads or writes it. */
function isUsedBy(model: Model, unit: FunctionUnit, resource: Location): boolean {
  const { before, after } = model.summaries(unit)
  return before.get(resource) !== undefined || after.get(resource) !== undefined
}

function describe(
  host: Host,
  registry: Location,
  drain: Access,
  suspensions: Draft['suspensions'],
  end: CallSite,
  adder: Access,
): Draft {
  const { name } = registry
  const by = adder.owner.namedAs
  const { namedAs } = host.unit
  return {
    rule: 'H408',
    class: 'atomicity-gap',
    level: 'warning',
    message: `${namedAs} waits for the entries of ${name} and only then ends the rest: entries that ${by} registers during the wait are missed`,
    locations: [registry],
    check: drain,
    act: end,
    suspensions,
    conflict: adder,
    steps: [
      { task: 'A', text: `takes the entries of ${name}: \`${textOf(drain)}\``, at: drain },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `${by} registers one more: \`${textOf(adder)}\``, at: adder },
      { task: 'A', text: `ends the rest: \`${textOf(end)}\``, at: end },
      { task: 'B', text: 'uses a resource that has been closed', at: adder },
    ],
    window: [0, 3],
    evidence: [
      `${by} checks nothing that ${namedAs} sets before it waits`,
      overlapOf(adder.owner.host)?.text ?? `${by} can be called`,
    ],
    fixes: [stopIntakeFirst(textOf(end), [1, 4]), markFirst('closing', [1, 4])],
  }
}

export const drainedWhileOpenPage: RulePage = {
  id: 'H408',
  name: 'drained-while-open',
  class: 'atomicity-gap',
  level: 'warning',
  summary:
    'Registered work is waited for while more can be registered, and then the rest is ended.',
  what: `A function that ends something walks a shared list, set or map of running work and waits for it.
Only afterwards it removes the listener that registers more, or releases a resource of the work. Nothing that
it sets before the wait keeps other functions from registering.`,
  why: `What is registered during the wait is not waited for: it uses a connection that is closed,
or writes to a file that is being read.`,
  race: source`
    export class Service {
      #running = new Set<Promise<void>>()
      #store = openStore()

      handle(message: string): void {
        const work = this.#store.put(message)
        this.#running.add(work)
      }

      async close(): Promise<void> {
        await Promise.all([...this.#running])
        await this.#store.close()
      }
    }
  `,
  steps: [
    ['A', 'close(): waits for the running work, suspended'],
    ['B', 'handle(): one more, put() is on its way'],
    ['A', '#store.close(): the last message is not stored'],
  ],
  window: [1, 3],
  fixed: source`
    export class Service {
      #running = new Set<Promise<void>>()
      #store = openStore()
      #isClosing = false

      handle(message: string): void {
        if (this.#isClosing) throw new Error('closing')
        const work = this.#store.put(message)
        this.#running.add(work)
      }

      async close(): Promise<void> {
        this.#isClosing = true
        await Promise.all([...this.#running])
        await this.#store.close()
      }
    }
  `,
  fixes: [
    'Close the intake first: remove the listener, or set a mark that refuses new work.',
    'Repeat the wait until nothing is registered.',
  ],
}
