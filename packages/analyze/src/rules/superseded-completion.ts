/**
 * H202 superseded completion: an operation stores itself somewhere, waits, and then clears the place,
 * which by then may belong to a newer operation. Without looking whether it is still its own.
 *
 * It can belong to a newer one when nothing keeps a second operation from storing (no check before
 * the store), or when other code clears the place in between.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { Suspension } from '../ir/program.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { generation, identityCheck } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { firstPerLocation } from './per-location.ts'
import { isIdentityCheck, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function supersededCompletion(model: Model): Draft[] {
  return firstPerLocation(model, {
    isAsked: () => true,
    begins: (access) =>
      isOperation(model, access) || isGivenHandle(model, access) || isFoundEntry(access),
    draft: (host, location, begin) =>
      begin.access.op === 'read'
        ? removedAfter(model, host, location, begin)
        : from(model, host, location, begin),
  })
}

/** An entry that is checked, and removed after a suspension. */
function isFoundEntry({ op, location, checks }: Access): boolean {
  return (
    op === 'read' &&
    location.canonical.scope === 'entry' &&
    location.canonical.entryKey !== undefined &&
    checks.some(({ whenPresent, isIdentity }) => whenPresent !== undefined && !isIdentity)
  )
}

/** By then, another function may have stored a newer one under the same key. */
function removedAfter(
  model: Model,
  host: Host,
  location: Location,
  read: Located,
): Draft | undefined {
  const isLook = (event: Event): boolean =>
    model.isCheckOf(event, location) ||
    isIdentityCheck(event) ||
    (event.op === 'read' && event.location.canonical === location)
  const way = overSuspension(
    host.graph,
    read,
    (event) =>
      event.op === 'write' && event.kind === 'drop' && event.location.canonical === location,
    (event, isAfter) =>
      (isAfter && isLook(event)) ||
      (event.op === 'write' && event.location.canonical === location && event.kind !== 'drop'),
  )
  const drop = way?.event as Access | undefined
  if (way === undefined || drop === undefined) return undefined
  const filler = fillerOf(model, location, host)
  if (filler === undefined || isKeyedByHandle(host, location, way.suspensions)) return undefined
  const end = { block: way.block, event: drop }
  if (model.guardOver(host.unit, way.suspensions[0], read, end) !== undefined) return undefined
  return describe(host, location, read.access, drop, way.suspensions, filler, true)
}

/** `server.close(() => map.delete(server))`: a newer operation has another object, so another key. */
function isKeyedByHandle(
  host: Host,
  { name }: Location,
  suspensions: readonly Suspension[],
): boolean {
  return host.calls.some(
    ({ event: { receiver, start } }) =>
      receiver !== undefined &&
      suspensions.some((one) => one.start === start) &&
      name.endsWith(`[${receiver.name}]`),
  )
}

/** Another function that stores an entry whatever is there. */
function fillerOf(model: Model, location: Location, host: Host): Access | undefined {
  const container = location.parent?.canonical
  return model
    .writesOfField(location.field)
    .find(
      ({ access, host: by }) =>
        access.kind === 'fill' &&
        !access.isInitial &&
        by !== host.unit &&
        access.location.canonical.parent?.canonical === container &&
        overlapOf(by) !== undefined &&
        !model
          .hostOf(by)
          .checked.some(
            (group) =>
              group.location.parent?.canonical === container || group.location === container,
          ),
    )?.access
}

/** A promise, a controller, a handle: something that stands for a running operation. */
function isOperation(model: Model, access: Access): boolean {
  if (access.op !== 'write' || access.isInitial || !isStore(access)) return false
  const { value } = access
  if (value === undefined || value.isAwaited === true || value.literal !== undefined) return false
  // A timer that clears its own field when it fires is the usual way to say that it has fired.
  if (value.calls?.some((site) => /^set(?:Timeout|Interval|Immediate)$/.test(site.name)) === true)
    return false
  if (value.constructed !== undefined) return model.lifecycles.isHandle(access.location)
  const isPromise = value.calls?.some((site) => site.isJoined && site.name !== '') === true
  return value.fresh === 'promise' || value.tail !== undefined || isPromise
}

/** An argument of the caller, stored where another function reaches it to end it. */
function isGivenHandle(model: Model, { op, isInitial, kind, value, location }: Access): boolean {
  if (op !== 'write' || isInitial || kind !== 'set') return false
  const given = value?.location
  return (
    given?.scope === 'parameter' &&
    given.unit?.params.includes(given.field) === true &&
    model.lifecycles.isHandle(location)
  )
}

function from(model: Model, host: Host, location: Location, stored: Located): Draft | undefined {
  const way = overSuspension(
    host.graph,
    stored,
    (event) => event.op === 'write' && event.location.canonical === location && !isStore(event),
    (event, isAfter) =>
      (isAfter && (model.isCheckOf(event, location) || isIdentityCheck(event))) ||
      (event.op === 'write' &&
        event.location.canonical === location &&
        isStore(event) &&
        event !== stored.access),
  )
  const clear = way?.event as Access | undefined
  if (way === undefined || clear === undefined) return undefined
  const isReserved = model.reservations.at(host.unit, way.suspensions[0]!) === location
  const other = isReserved ? clearedElsewhere(model, location, host) : undefined
  if (isReserved && other === undefined) return undefined
  if (
    !isReserved &&
    model.guardOver(host.unit, way.suspensions[0], stored, { block: way.block, event: clear }) !==
      undefined
  )
    return undefined
  const isHarmful =
    (other !== undefined && location.scope === 'entry') ||
    (other === undefined && isReleasedElsewhere(model, location, host))
  return describe(host, location, stored.access, clear, way.suspensions, other, isHarmful)
}

/** Another function reaches the operation through this place, to abort or to close it. */
function isReleasedElsewhere(model: Model, location: Location, host: Host): boolean {
  if (location.scope === 'entry' && !isKeyGiven(location, host)) return false
  return model.lifecycles.releasesOf(location).some(({ owner }) => owner.host !== host.unit)
}

/** A key that was made here belongs to this task: no newer operation can have taken its place. */
function isKeyGiven({ name }: Location, { unit }: Host): boolean {
  const key = /\[([\w$]+)[^[]*$/.exec(name)?.[1]
  return key !== undefined && (key === 'this' || unit.params.includes(key))
}

function clearedElsewhere(model: Model, location: Location, host: Host): Access | undefined {
  const whole = location.scope === 'entry' ? location.parent?.canonical : undefined
  const isClear = ({ access, host: by }: Located): boolean =>
    !access.isInitial && !isStore(access) && by !== host.unit
  const direct = model.writesOf(location).find(isClear)
  if (direct !== undefined || whole === undefined) return direct?.access
  const fields: readonly Located[] = [
    ...model.writesOf(whole),
    ...model.writesOfField(location.field),
  ]
  return fields.find(
    (one) =>
      isClear(one) &&
      (one.access.location.canonical === whole || one.access.location.parent?.canonical === whole),
  )?.access
}

function describe(
  host: Host,
  location: Location,
  stored: Access,
  clear: Access,
  suspensions: Draft['suspensions'],
  other: Access | undefined,
  isHarmful: boolean,
): Draft {
  const overlap = overlapOf(host.unit)
  const name = location.name
  const isEvent = (event: Event): boolean => event.op === 'suspend' && event.kind === 'continuation'
  return {
    rule: 'H202',
    class: 'stale-reference',
    level: isHarmful && overlap !== undefined ? 'warning' : 'note',
    message: `${host.unit.namedAs} clears ${name} when its own operation ends, without looking whether a newer one has taken its place`,
    locations: [location],
    check: stored,
    act: clear,
    suspensions,
    conflict: other ?? stored,
    steps: [
      { task: 'A', text: `stores its operation: \`${textOf(stored)}\``, at: stored },
      {
        task: 'A',
        text: suspensions.some(isEvent) ? 'resumes later, in a callback' : 'waits for it',
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      ...(other === undefined
        ? []
        : [
            {
              task: 'B',
              text: `${other.owner.namedAs} clears ${name}: \`${textOf(other)}\``,
              at: other,
            } as const,
          ]),
      { task: 'B', text: `stores a newer operation: \`${textOf(stored)}\``, at: stored },
      { task: 'A', text: `ends and clears B's entry: \`${textOf(clear)}\``, at: clear },
    ],
    window: [1, other === undefined ? 3 : 4],
    evidence: [
      overlap === undefined
        ? 'it runs at start-up only'
        : `may overlap with itself: ${overlap.text}`,
      other === undefined
        ? 'a second call stores without looking'
        : `${other.owner.namedAs} clears it as well`,
    ],
    fixes: [identityCheck(name, [4, 5]), generation(name, [4, 5])],
  }
}

export const supersededCompletionPage: RulePage = {
  id: 'H202',
  name: 'superseded-completion',
  class: 'stale-reference',
  level: 'warning',
  summary: 'A late completion writes or deletes an entry that a newer operation may own.',
  what: `When an operation ends, its continuation writes or deletes the entry of a shared container,
without checking that the entry is still its own.`,
  why: `The older answer overwrites the newer one: the search box shows the results of the earlier
text. Or the clean-up of the first operation deletes the entry of the second, which then runs twice.`,
  race: source`
    const running = new Map<string, Promise<string>>()

    export function load(key: string): Promise<string> {
      const known = running.get(key)
      if (known !== undefined) return known
      const promise = fetchText(key)
      running.set(key, promise)
      promise.finally(() => running.delete(key))
      return promise
    }

    export function forget(key: string): void {
      running.delete(key)
    }
  `,
  steps: [
    ['A', 'load(k): starts a request and registers it'],
    ['B', 'forget(k): the entry is deleted'],
    ['C', 'load(k): starts a second request and registers it'],
    ['A', 'the first request ends and deletes the entry of the second'],
    ['D', 'load(k): nothing is registered, a third request starts'],
  ],
  window: [2, 4],
  fixed: source`
    const running = new Map<string, Promise<string>>()

    export function load(key: string): Promise<string> {
      const known = running.get(key)
      if (known !== undefined) return known
      const promise = fetchText(key)
      running.set(key, promise)
      promise.finally(() => {
        if (running.get(key) === promise) running.delete(key)
      })
      return promise
    }

    export function forget(key: string): void {
      running.delete(key)
    }
  `,
  fixes: [
    'Check the identity before you write or delete: if (running.get(key) === promise).',
    'Give each operation a number, and let only the newest one write.',
    'Abort the older operation when a newer one starts.',
  ],
}
