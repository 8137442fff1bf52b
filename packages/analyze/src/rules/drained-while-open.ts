/**
 * H409 drained while open: a function that ends something waits for the work that is registered, and only
 * then it removes the listener that registers more (or gives back what that work uses). What is registered
 * during the wait is missed.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { targetsOf } from '../summaries/order.ts'
import { ask, found } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { isTakenWhole } from './drained-then-reset.ts'
import { markFirst, stopIntakeFirst } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { isComponentState } from './shared.ts'
import { baseOf, isPartOf, isWithin, overSuspension } from './walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function drainedWhileOpen(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (host.unit.kind === 'constructor' || overlapOf(host.unit) === undefined) continue
    for (const { location, accesses } of host.groups) {
      if (!isComponentState(location)) continue
      const draft = from(model, host, location, accesses)
      if (draft === undefined) continue
      drafts.push(draft)
      break
    }
  }
  return drafts
}

function from(
  model: Model,
  host: Host,
  registry: Location,
  accesses: readonly Located[],
): Draft | undefined {
  const drain = accesses.find(({ access }) => isTakenWhole(access) && access.owner === host.unit)
  if (drain === undefined || isClosedBefore(model, host, drain)) return undefined
  const way = overSuspension(
    host.graph,
    drain,
    (event) => isEnd(model, event, registry),
    (event, isAfter) =>
      isAfter &&
      (event.op === 'read' || event.op === 'write') &&
      event !== drain.access &&
      isPartOf(event.location.canonical, registry),
  )
  const end = way?.event
  if (way === undefined || end?.op !== 'call' || !isWithin(end.owner, host.unit)) return undefined
  if (isDrainedAgain(host, way.block, end, registry)) return undefined
  const adder = adderOf(model, host, registry, drain, end)
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

/** The intake is closed, or what the work uses is given back. Elements of the registry are neither. */
function isEnd(model: Model, event: Event, registry: Location): boolean {
  if (event.op !== 'call') return false
  const { callee } = event
  const isOfElement =
    callee.kind === 'member' &&
    (callee.receiver.within?.some(({ location }) => location.canonical === registry) === true ||
      callee.receiver.location?.scope === 'entry' ||
      callee.receiver.location?.scope === 'parameter')
  if (isOfElement) return false
  return unlistening.has(event.name) || resourceOf(model, event) !== undefined
}

/** The state of the component that a call gives back. */
function resourceOf(model: Model, { callee, start }: CallSite): Location | undefined {
  if (callee.kind !== 'member') return undefined
  const location = callee.receiver.location?.canonical
  if (location === undefined || !isComponentState(location)) return undefined
  return model.lifecycles.releasesOf(location).some((site) => site.start === start)
    ? location
    : undefined
}

/** Before it waits, it has given something back, removed a listener, or called a function that ends things. */
function isClosedBefore(model: Model, host: Host, drain: Located): boolean {
  return host.calls.some(
    ({ event }) =>
      event.start < drain.access.start &&
      (unlistening.has(event.name) ||
        model.lifecycles.isRelease(event) ||
        targetsOf(event).some((target) => model.summaries(target).suspends !== 'never')),
  )
}

/** It looks at the registry once more when no more can come. */
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
  model: Model,
  host: Host,
  registry: Location,
  drain: Located,
  end: CallSite,
): Access | undefined {
  const marks = host.written
    .filter(({ accesses }) => accesses.some(({ access }) => access.op === 'write'))
    .map(({ location }) => location)
  const resource = resourceOf(model, end)
  for (const { access, host: unit } of model.writesOfField(registry.field)) {
    if (access.isInitial || (access.kind !== 'append' && access.kind !== 'fill')) continue
    if (!isPartOf(access.location.canonical, registry)) continue
    if (unit === host.unit || isWithin(unit, host.unit) || overlapOf(unit) === undefined) continue
    if (baseOf(access.location.canonical) !== baseOf(drain.access.location.canonical)) continue
    if (asksFor(model, unit, marks)) continue
    if (resource !== undefined && !usesOf(model, unit).includes(resource)) continue
    return access
  }
  return undefined
}

/** It refuses work when the ending function has set a mark, itself or in a function that it asks. */
function asksFor(model: Model, unit: FunctionUnit, marks: readonly Location[]): boolean {
  const other = model.hostOf(unit)
  if (other.checked.some(({ location }) => marks.includes(location))) return true
  return other.linked.some(({ event }) =>
    targetsOf(event).some((target) =>
      marks.some((mark) => model.summaries(target).before.get(mark)?.check !== undefined),
    ),
  )
}

/** What a function and those that it calls read. */
function usesOf(model: Model, unit: FunctionUnit): readonly Location[] {
  const { before, after } = model.summaries(unit)
  return [...before.locations, ...after.locations]
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
    rule: 'H409',
    class: 'atomicity-gap',
    level: 'warning',
    message: `${namedAs} waits for what is in ${name} and only then ends the rest: what ${by} registers during the wait is missed`,
    locations: [registry],
    check: drain,
    act: end,
    suspensions,
    conflict: adder,
    steps: [
      { task: 'A', text: `takes what is in ${name}: \`${textOf(drain)}\``, at: drain },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `${by} registers one more: \`${textOf(adder)}\``, at: adder },
      { task: 'A', text: `ends the rest: \`${textOf(end)}\``, at: end },
      { task: 'B', text: 'goes on with what has been ended', at: adder },
    ],
    window: [0, 3],
    evidence: [
      `${by} looks at nothing that ${namedAs} sets before it waits`,
      overlapOf(adder.owner.host)?.text ?? `${by} can be called`,
    ],
    fixes: [stopIntakeFirst(textOf(end), [1, 4]), markFirst('closing', [1, 4])],
  }
}

export const drainedWhileOpenPage: RulePage = {
  id: 'H409',
  name: 'drained-while-open',
  class: 'atomicity-gap',
  level: 'warning',
  summary:
    'Registered work is waited for while more can be registered, and then the rest is ended.',
  what: `A function that ends something walks a shared list, set or map of running work and waits for it.
Only afterwards it removes the listener that registers more, or gives back what the work uses. Nothing that
it sets before the wait keeps other functions from registering.`,
  why: `What is registered during the wait is not waited for: it goes on with a connection that is closed,
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
    ['A', 'close(): waits for what is running, suspended'],
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
