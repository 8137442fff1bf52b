/**
 * H409 ambient value: an argument is stored in shared state, a suspension follows, and then it
 * is read there or taken away as if it were still the own one. Two calls that overlap have one place: the
 * first continues with the value of the second.
 *
 * Two shapes: a *context* that is set before a wait and taken away after it, for others to read meanwhile;
 * and an *argument* that is stored in a field and read back after a wait.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { isCopy, ownerIn } from '../ir/splice.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, passAlong } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { hasStrongReach, overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { perLocation } from './per-location.ts'
import { isComponentState, isParameterOf } from './shared.ts'
import { isWithin, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function ambientValue(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    (group, { unit }) =>
      isComponentState(group.location) &&
      group.isSharedIn(unit) &&
      !group.isChecked &&
      unit.kind !== 'constructor' &&
      overlapOf(unit) !== undefined,
    (host, location, accesses) => {
      const stores = accesses.filter(({ access }) => isHandedOver(access, host))
      if (stores.length === 0) return undefined
      const reader = readerOf(model, host, location)
      for (const store of stores) {
        const draft =
          (reader && context(model, host, location, store, reader)) ??
          argument(model, host, location, store)
        if (draft !== undefined) return draft
      }
      return undefined
    },
  )
}

/** A parameter of the function itself is stored, as it is. */
function isHandedOver(access: Access, { unit }: Host): boolean {
  const { kind, owner, start, end, isInitial, value } = access
  if (kind !== 'set' || isInitial || ownerIn(access) !== unit) return false
  if (owner !== unit) return isParameterOf(value, unit)
  const text = owner.file.parsed.text.slice(start, end + 80)
  const name = /^[^=]*=\s*([\w$]+)\s*(?:[;,)}\n]|$)/.exec(text)?.[1]
  return name !== undefined && unit.params.includes(name)
}

function isOf(event: Event, location: Location): event is Access {
  return (event.op === 'read' || event.op === 'write') && event.location.canonical === location
}

/** Another function that reads the place. */
function readerOf(model: Model, host: Host, location: Location): Access | undefined {
  for (const unit of model.summaries.uses.hostsOf(location)) {
    if (unit === host.unit || isWithin(unit, host.unit)) continue
    const read = model
      .hostOf(unit)
      .accessesOf(location)
      .find(({ access }) => access.op === 'read' && !isCopy(access))
    if (read !== undefined) return read.access
  }
  return undefined
}

/** The value is removed, or the old value is put back, after the wait; other functions read it in between. */
function context(
  model: Model,
  host: Host,
  location: Location,
  store: Located,
  reader: Access,
): Draft | undefined {
  const isTakenAway = (event: Event): boolean =>
    isOf(event, location) &&
    event.op === 'write' &&
    (event.kind === 'null' ||
      (event.kind === 'set' && event.value?.location?.canonical === location))
  return between(model, host, location, store, isTakenAway, (act, suspensions) =>
    describe(host, location, store.access, suspensions, act, 'warning', reader),
  )
}

/**
 * Read back after the wait by the function that has stored it. A callback that reads it may run once for
 * several calls, in turn: then it wants the last value.
 */
function argument(model: Model, host: Host, location: Location, store: Located): Draft | undefined {
  const isReadBack = (event: Event): boolean =>
    isOf(event, location) && event.op === 'read' && ownerIn(event) === ownerIn(store.access)
  return between(model, host, location, store, isReadBack, (act, suspensions) =>
    describe(
      host,
      location,
      store.access,
      suspensions,
      act,
      hasStrongReach(host.unit) ? 'warning' : 'note',
    ),
  )
}

function between(
  model: Model,
  host: Host,
  location: Location,
  store: Located,
  isEnd: (event: Event) => boolean,
  draft: (act: Access, suspensions: Draft['suspensions']) => Draft,
): Draft | undefined {
  const way = overSuspension(
    host.graph,
    store,
    isEnd,
    (event) => isOf(event, location) && event.op === 'write',
  )
  const act = way?.event as Access | undefined
  if (way === undefined || act === undefined || !isWithin(ownerIn(act), host.unit)) return undefined
  const end = { block: way.block, event: act }
  if (model.guardOver(host.unit, way.suspensions[0], store, end) !== undefined) return undefined
  return draft(act, way.suspensions)
}

function describe(
  host: Host,
  location: Location,
  store: Access,
  suspensions: Draft['suspensions'],
  act: Access,
  level: Draft['level'],
  reader?: Access,
): Draft {
  const { name } = location
  const { namedAs } = host.unit
  const isContext = reader !== undefined
  return {
    rule: 'H409',
    class: isContext ? 'missing-guard' : 'stale-reference',
    level,
    message: isContext
      ? `${namedAs} stores its argument in ${name}, waits, and removes it: when two calls overlap, ${reader.owner.namedAs} reads the value of the other one or none`
      : `${namedAs} stores its argument in ${name}, waits, and reads it back: another call may have stored its own argument during the wait`,
    locations: [location],
    check: store,
    act,
    suspensions,
    conflict: reader ?? store,
    steps: [
      { task: 'A', text: `stores its own value: \`${textOf(store)}\``, at: store },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `another call stores another value: \`${textOf(store)}\``, at: store },
      {
        task: 'A',
        text: isContext
          ? `removes a value that is not its own: \`${textOf(act)}\``
          : `reads the value of B: \`${textOf(act)}\``,
        at: act,
      },
    ],
    window: [0, 3],
    evidence: [
      `${name} is one place for all calls of ${namedAs}`,
      overlapOf(host.unit)?.text ?? `${namedAs} can be called`,
    ],
    fixes: [passAlong(name, isContext, [1, 4]), mutex(name, [1, 4])],
  }
}

export const ambientValuePage: RulePage = {
  id: 'H409',
  name: 'ambient-value',
  class: 'missing-guard',
  level: 'warning',
  summary: 'A value of one call is kept in shared state over a suspension.',
  what: `A function stores its argument in a variable of the module or a field, and waits. After
the wait it removes the value, which other functions read during the wait, or it reads the value back. Every call
uses the same place. Read back in a function that only callers of the package call, it is a note.`,
  why: `Two calls that overlap see each other's values: a log line has the wrong request, a query runs in the
transaction of another task, and the first call that ends takes away the value of the second.`,
  race: source`
    let current: string | undefined

    export function user(): string | undefined {
      return current
    }

    export async function runAs<T>(name: string, work: () => Promise<T>): Promise<T> {
      current = name
      try {
        return await work()
      } finally {
        current = undefined
      }
    }
  `,
  steps: [
    ['A', "runAs('ada'): current is ada, suspended in work()"],
    ['B', "runAs('bob'): current is bob, suspended"],
    ['A', 'resumes: user() says bob'],
    ['A', 'ends: current is undefined, also for B'],
  ],
  window: [1, 4],
  fixed: source`
    import { AsyncLocalStorage } from 'node:async_hooks'

    const current = new AsyncLocalStorage<string>()

    export function user(): string | undefined {
      return current.getStore()
    }

    export async function runAs<T>(name: string, work: () => Promise<T>): Promise<T> {
      return await current.run(name, work)
    }
  `,
  fixes: [
    'Hand the value on as an argument, or keep it in a variable of the call.',
    'Use an AsyncLocalStorage for a context that other functions read.',
    'Let calls wait for each other where only one can be under way.',
  ],
}
