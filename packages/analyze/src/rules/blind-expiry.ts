/**
 * H214 blind expiry: something is taken and a timer is started that gives it back, and nobody keeps the
 * timer. When it was given back before and taken again, the timer gives back what is now another one's.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { clearWithEntry, identityCheck } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { isComponentState } from './shared.ts'
import { inSameRegion, isLook, isPartOf, isWithin } from './walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function blindExpiry(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const timer of model.calls.triggers) {
    if (timer.owner.host.graph === undefined || isKept(timer)) continue
    for (const { unit, role } of timer.callbacks) {
      const draft =
        role === 'timer' && unit.host === timer.owner.host ? from(model, timer, unit) : undefined
      if (draft !== undefined) drafts.push(draft)
    }
  }
  return drafts
}

/** The timer is stored or handed on: it may be cleared somewhere. */
function isKept({ owner, start }: CallSite): boolean {
  const before = owner.file.parsed.text.slice(Math.max(0, start - 40), start)
  return !/(?:[;{}\n]|\belse)\s*$/.test(before)
}

function from(model: Model, timer: CallSite, unit: FunctionUnit): Draft | undefined {
  const host = model.hostOf(unit.host)
  if (isLooking(host, unit)) return undefined
  for (const { location, accesses } of host.written) {
    if (!isLasting(location)) continue
    const expiry = accesses.find(({ access }) => access.owner === unit && isGivenBack(access))
    if (expiry === undefined) continue
    const taken = accesses.find(
      ({ access }) =>
        access.owner === timer.owner && isTaken(access, location) && access !== expiry.access,
    )
    if (taken === undefined || !isBefore(host, taken, timer)) continue
    const other = otherRelease(model, host, location)
    if (other === undefined || !isTakenOnce(accesses, taken)) continue
    return describe(host, location, taken.access, timer, expiry.access, other)
  }
  return undefined
}

function isLasting(location: Location): boolean {
  return location.scope === 'entry'
    ? location.parent !== undefined && isComponentState(location.parent.canonical)
    : isComponentState(location)
}

/** The timer looks at something first: whether it is still its own. */
function isLooking({ graph }: Host, unit: FunctionUnit): boolean {
  return graph.blocks.some(({ events }) =>
    events.some((event) => isLook(event) && isWithin(event.owner, unit)),
  )
}

function isGivenBack({ op, kind, value }: Access): boolean {
  return op === 'write' && (kind === 'drop' || (kind === 'null' && value?.literal !== undefined))
}

function isTaken({ op, kind, value, isInitial }: Access, { scope }: Location): boolean {
  if (op !== 'write' || isInitial) return false
  return scope === 'entry' ? kind === 'fill' : kind === 'set' && value?.literal === 'true'
}

function isBefore(host: Host, taken: Located, timer: CallSite): boolean {
  return inSameRegion(host.graph, taken, (event) => event === timer) !== undefined
}

/** It was looked at before it was taken: it belongs to one at a time. */
function isTakenOnce(accesses: readonly Located[], taken: Located): boolean {
  return accesses.some(
    ({ access }) =>
      access.op === 'read' && access.checks.length > 0 && access.start < taken.access.start,
  )
}

/** Another function gives it back earlier than the timer does, so that it can be taken again. */
function otherRelease(model: Model, host: Host, location: Location): Access | undefined {
  const container = location.scope === 'entry' ? location.parent!.canonical : undefined
  const writes =
    container === undefined ? model.writesOf(location) : model.writesOfField(location.field)
  return writes.find(
    ({ access, host: by }) =>
      by !== host.unit &&
      isGivenBack(access) &&
      !access.isInitial &&
      overlapOf(by) !== undefined &&
      (container === undefined || isPartOf(access.location.canonical, container)),
  )?.access
}

function describe(
  host: Host,
  location: Location,
  taken: Access,
  timer: CallSite,
  expiry: Access,
  other: Access,
): Draft {
  const { name } = location
  const by = other.owner.namedAs
  const { namedAs } = host.unit
  return {
    rule: 'H214',
    class: 'stale-reference',
    level: 'warning',
    message: `${namedAs} takes ${name} and starts a timer that gives it back, which nobody clears: after ${by} and another ${namedAs} it gives back what is not its own`,
    locations: [location],
    check: taken,
    act: expiry,
    suspensions: [],
    conflict: other,
    steps: [
      { task: 'A', text: `takes ${name}: \`${textOf(taken)}\``, at: taken },
      { task: 'A', text: `starts the timer: \`${textOf(timer)}\``, at: timer, isCheckpoint: true },
      { task: 'B', text: `${by} gives it back: \`${textOf(other)}\``, at: other },
      { task: 'B', text: `takes it anew: \`${textOf(taken)}\``, at: taken },
      { task: 'A', text: `the first timer gives it back: \`${textOf(expiry)}\``, at: expiry },
    ],
    window: [1, 4],
    evidence: [
      `${by} gives ${name} back before the timer`,
      overlapOf(host.unit)?.text ?? `${namedAs} can be called`,
    ],
    fixes: [clearWithEntry(name, [3, 5]), identityCheck(name, [5, 5])],
  }
}

export const blindExpiryPage: RulePage = {
  id: 'H214',
  name: 'blind-expiry',
  class: 'stale-reference',
  level: 'warning',
  summary: 'A timer that nobody clears gives back what another one has taken since.',
  what: `A function takes something that belongs to one at a time (a flag, an entry), and starts a timer that
gives it back. The timer is not kept, so that it cannot be cleared. Another function gives the same thing back
earlier.`,
  why: `After an early return it is taken again, and the first timer still fires: it frees the lock of the
new holder, or removes the new entry. A third one enters beside the second.`,
  race: source`
    export class Lock {
      #isHeld = false

      take(): boolean {
        if (this.#isHeld) return false
        this.#isHeld = true
        setTimeout(() => {
          this.#isHeld = false
        }, 5000)
        return true
      }

      free(): void {
        this.#isHeld = false
      }
    }
  `,
  steps: [
    ['A', 'take(): held, the timer fires in 5 s'],
    ['A', 'free() after 1 s'],
    ['B', 'take() after 4 s: held'],
    ['A', 'the first timer: #isHeld is false although B holds it'],
  ],
  window: [2, 4],
  fixed: source`
    export class Lock {
      #isHeld = false
      #timer: NodeJS.Timeout | undefined

      take(): boolean {
        if (this.#isHeld) return false
        this.#isHeld = true
        this.#timer = setTimeout(() => {
          this.#isHeld = false
        }, 5000)
        return true
      }

      free(): void {
        clearTimeout(this.#timer)
        this.#isHeld = false
      }
    }
  `,
  fixes: [
    'Keep the timer and clear it where the thing is given back.',
    'Give every holder a number, and let the timer look whether it is still the same.',
  ],
}
