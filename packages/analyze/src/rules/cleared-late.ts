/**
 * H509 cleared late: data is read to be written away, a suspension follows, and only then the mark is
 * cleared which says that the data has changed. A change during the suspension sets the mark again, and
 * the clearing takes it for the change that was written: it is never written.
 *
 * The mark belongs to the data when another function changes both in one go.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import { isStore } from '../summaries/effects.ts'
import { targetsOf } from '../summaries/order.ts'
import type { Position } from '../summaries/paths.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { clearFirst, generation } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { perLocation } from './per-location.ts'
import { isComponentState } from './shared.ts'
import { baseOf, isPartOf, isWithin, overSuspension } from './walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function clearedLate(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    (group, host) =>
      isComponentState(group.location) && !group.isStored && host.unit.kind !== 'constructor',
    (host, location, accesses) =>
      accesses.some(({ access }) => isClearing(access)) && isGate(model, host, location)
        ? from(model, host, location, accesses)
        : undefined,
  )
}

/** `dirty = false`, `changes = 0`. */
function isClearing({ op, kind, value, isInitial }: Access): boolean {
  if (op !== 'write' || isInitial) return false
  return (
    (kind === 'null' && value?.literal === 'false') ||
    (kind === 'reset' && value?.literal === 'zero')
  )
}

/** The mark decides whether there is anything to do: in the function, or in one that calls it. */
function isGate(model: Model, { unit }: Host, location: Location): boolean {
  const askers = new Set([unit, ...unit.callers.map(({ owner }) => owner.host)])
  for (const asker of askers) {
    if (asker.graph === undefined) continue
    const isAsked = model
      .hostOf(asker)
      .accessesOf(location)
      .some(({ access }) => access.op === 'read' && access.checks.length > 0)
    if (isAsked) return true
  }
  return false
}

function from(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
): Draft | undefined {
  for (const { access: mark, host: setter } of model.writesOf(location)) {
    if (!isMark(model, mark, setter, host.unit)) continue
    for (const data of changedWith(model, mark, setter)) {
      const draft = late(model, host, location, accesses, mark, data)
      if (draft !== undefined) return draft
    }
  }
  return undefined
}

/** Set to true, or counted up, by a function that does not wait and that anyone may call meanwhile. */
function isMark(model: Model, mark: Access, setter: FunctionUnit, host: FunctionUnit): boolean {
  if (mark.isInitial || setter === host || isWithin(setter, host)) return false
  if (mark.value?.literal !== 'true' && mark.kind !== 'rmw') return false
  return overlapOf(setter) !== undefined && model.summaries(setter).suspends === 'never'
}

/** Other state of the component that changes together with the mark. */
function changedWith(model: Model, mark: Access, setter: FunctionUnit): readonly Location[] {
  const own = mark.location.canonical
  return model
    .hostOf(setter)
    .written.filter(
      ({ location, accesses, isStored }) =>
        isStored &&
        location !== own &&
        baseOf(location) === baseOf(own) &&
        !model.lifecycles.isHandle(location) &&
        accesses.some(({ access }) => access.op === 'write' && isStore(access) && isData(access)),
    )
    .map(({ location }) =>
      location.scope === 'entry' ? (location.parent?.canonical ?? location) : location,
    )
}

/** Something is put in, not a state switched. */
function isData({ kind, value }: Access): boolean {
  return kind === 'append' || kind === 'fill' || (kind === 'set' && value?.literal === undefined)
}

interface Reading extends Position {
  readonly at: Place
}

function late(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
  mark: Access,
  data: Location,
): Draft | undefined {
  for (const reading of readingsOf(model, host, data)) {
    const way = overSuspension(
      host.graph,
      reading,
      (event) => event.op === 'write' && event.location.canonical === location && isClearing(event),
      (event, isAfter) =>
        (event.op === 'write' && event.location.canonical === location) ||
        (isAfter && model.isCheckOf(event, location)) ||
        (isAfter && event.op === 'read' && isPartOf(event.location.canonical, data)),
    )
    const clear = way?.event as Access | undefined
    if (way === undefined || clear === undefined || !isWithin(clear.owner, reading.at.owner))
      continue
    const check = accesses.find(({ access }) => access === clear)!
    const end = { block: way.block, event: clear }
    if (model.guardOver(host.unit, way.suspensions[0], check, end) !== undefined) continue
    return describe(host, location, data, reading.at, clear, way.suspensions, mark)
  }
  return undefined
}

/** Where the data is read, in the function or in one that it calls. */
function readingsOf(model: Model, host: Host, data: Location): readonly Reading[] {
  const own = host.groups
    .filter((group) => isPartOf(group.location, data))
    .flatMap(({ accesses }) => accesses)
    .filter(({ access }) => access.op === 'read')
    .map((one): Reading => ({ block: one.block, index: one.index, at: one.access }))
  const inner = host.linked
    .filter(({ event }) =>
      targetsOf(event).some((target) => {
        const { before } = model.summaries(target)
        return before.locations.some(
          (one, place) => isPartOf(one, data) && before.effects[place]!.read !== undefined,
        )
      }),
    )
    // The call is before its own suspension.
    .map(({ block, index, event }): Reading => ({ block, index, at: event }))
  return [...own, ...inner]
}

function describe(
  host: Host,
  location: Location,
  data: Location,
  reading: Place,
  clear: Access,
  suspensions: Draft['suspensions'],
  mark: Access,
): Draft {
  const { name } = location
  const setter = mark.owner.namedAs
  const overlap = overlapOf(host.unit)
  return {
    rule: 'H509',
    class: 'atomicity-gap',
    level: overlap === undefined ? 'note' : 'warning',
    message: `${host.unit.namedAs} reads ${data.name}, waits, and then clears ${name}: a change by ${setter} during the wait is marked as done and is not`,
    locations: [location, data],
    check: reading,
    act: clear,
    suspensions,
    conflict: mark,
    steps: [
      { task: 'A', text: `reads ${data.name}: \`${textOf(reading)}\``, at: reading },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `${setter} changes it and sets the mark: \`${textOf(mark)}\``, at: mark },
      { task: 'A', text: `clears the mark: \`${textOf(clear)}\``, at: clear },
    ],
    window: [0, 3],
    evidence: [
      `${setter} changes ${data.name} and sets ${name} in one go`,
      overlap === undefined ? 'it runs at start-up only' : overlap.text,
    ],
    fixes: [clearFirst(name, [1, 4]), generation(name, [3, 4])],
  }
}

export const clearedLatePage: RulePage = {
  id: 'H509',
  name: 'cleared-late',
  class: 'atomicity-gap',
  level: 'warning',
  summary: 'The mark of a change is cleared after the wait for what was read before it.',
  what: `A function reads shared data, waits until it is written or sent, and then clears the mark which says
that the data has changed. Another function changes the data and sets the mark in one go, and may do so
during the wait.`,
  why: `The change that came during the wait was not in what was read, and the mark of it is gone: it is
written only when something else changes later, or never when the program ends before that.`,
  race: source`
    export class Settings {
      #values = new Map<string, string>()
      #isDirty = false

      set(name: string, value: string): void {
        this.#values.set(name, value)
        this.#isDirty = true
      }

      async save(): Promise<void> {
        if (!this.#isDirty) return
        await store(JSON.stringify([...this.#values]))
        this.#isDirty = false
      }
    }
  `,
  steps: [
    ['A', 'save(): reads the values, suspended'],
    ['B', 'set(): changes a value, #isDirty is true'],
    ['A', '#isDirty is false: the new value is not saved, and the next save() returns at once'],
  ],
  window: [1, 3],
  fixed: source`
    export class Settings {
      #values = new Map<string, string>()
      #isDirty = false

      set(name: string, value: string): void {
        this.#values.set(name, value)
        this.#isDirty = true
      }

      async save(): Promise<void> {
        if (!this.#isDirty) return
        this.#isDirty = false
        await store(JSON.stringify([...this.#values]))
      }
    }
  `,
  fixes: [
    'Clear the mark in the region that reads the data, and set it again when the writing fails.',
    'Count changes instead of marking them, and clear only when the count is still that of the reading.',
  ],
}
