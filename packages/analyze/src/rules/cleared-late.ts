/**
 * H509 cleared late: a mark says that there is something to do. It is found set, the work is done over a
 * suspension, and only then the mark is cleared. What was marked during the work is forgotten with it.
 *
 * A mark that says "connected" has the same shape. What makes the difference is what the marking function
 * stores beside it: a value that the work has read before the suspension, and not a handle that it uses.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { ownerIn } from '../ir/splice.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { clearFirst, mutex } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { isCheck } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { perLocation } from './per-location.ts'
import { isComponentState } from './shared.ts'
import { isIdentityCheck, isPartOf, isWithin, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function clearedLate(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    ({ location }, host) =>
      isComponentState(location) &&
      host.unit.kind !== 'constructor' &&
      !model.lifecycles.isTeardown(host.unit) &&
      isMark(model, location),
    (host, location, accesses) => {
      for (const check of accesses) {
        const draft = isCheck(check) ? from(model, host, location, check) : undefined
        if (draft !== undefined) return draft
      }
      return undefined
    },
  )
}

/** Nothing but `true` and `false` is ever stored there. */
function isMark(model: Model, location: Location): boolean {
  const writes = model.writesOf(location)
  return (
    writes.length > 0 &&
    writes.every(({ access: { value } }) => value?.literal === 'true' || value?.literal === 'false')
  )
}

function from(model: Model, host: Host, location: Location, check: Located): Draft | undefined {
  if (check.access.checks.every((one) => one.whenPresent === undefined || one.branch.isLoop))
    return undefined
  const way = overSuspension(
    host.graph,
    check,
    (event) => isClearing(event, location),
    (event, isAfter) =>
      (event.op === 'write' && event.location.canonical === location) ||
      (isAfter && (isIdentityCheck(event) || model.isCheckOf(event, location))),
    ({ kind }) => kind !== 'call',
  )
  const clear = way?.event as Access | undefined
  if (way === undefined || clear === undefined || way.block.cleanup === 1) return undefined
  if (!isWithin(ownerIn(clear), ownerIn(check.access))) return undefined
  const marked = markedWith(model, host, location, way.suspensions[0]!.end)
  if (marked === undefined) return undefined
  const end = { block: way.block, event: clear }
  if (model.guardOver(host.unit, way.suspensions[0], check, end) !== undefined) return undefined
  return describe(host, location, check.access, clear, way.suspensions, marked)
}

function isClearing(event: Event, location: Location): boolean {
  return (
    event.op === 'write' &&
    event.location.canonical === location &&
    event.value?.literal === 'false' &&
    !event.isInitial
  )
}

interface Marked {
  readonly mark: Access
  /** What is stored beside the mark. */
  readonly content: Location
}

/** Another function sets the mark and changes something that was read here before the suspension. */
function markedWith(
  model: Model,
  host: Host,
  location: Location,
  until: number,
): Marked | undefined {
  for (const { access: mark, host: other } of model.writesOf(location)) {
    if (mark.value?.literal !== 'true' || mark.isInitial || other === host.unit) continue
    if (overlapOf(other) === undefined || other.graph === undefined) continue
    for (const { location: content, accesses } of model.hostOf(other).written) {
      if (content === location || !isComponentState(wholeOf(content))) continue
      if (!accesses.some(({ access }) => isContent(access))) continue
      if (isReadBefore(host, wholeOf(content), until)) return { mark, content: wholeOf(content) }
    }
  }
  return undefined
}

function wholeOf(location: Location): Location {
  return location.scope === 'entry' ? location.parent!.canonical : location
}

function isContent(access: Access): boolean {
  return (
    access.op === 'write' &&
    !access.isInitial &&
    isStore(access) &&
    access.value?.literal === undefined &&
    access.value?.constructed === undefined
  )
}

/** Its value is used, and not a method of it. */
function isReadBefore(host: Host, content: Location, until: number): boolean {
  return host.groups.some(
    ({ location, accesses }) =>
      isPartOf(location, content) &&
      accesses.some(
        ({ access }) =>
          access.op === 'read' &&
          access.use === undefined &&
          access.checks.length === 0 &&
          access.start < until,
      ),
  )
}

function describe(
  host: Host,
  location: Location,
  check: Access,
  clear: Access,
  suspensions: Draft['suspensions'],
  { mark, content }: Marked,
): Draft {
  const { name } = location
  const marking = mark.owner.namedAs
  return {
    rule: 'H509',
    class: 'atomicity-gap',
    level: overlapOf(host.unit) === undefined ? 'note' : 'warning',
    message: `${host.unit.namedAs} finds ${name} set, waits, and then clears it: what ${marking} has changed during the wait is no longer marked`,
    locations: [location, content],
    check,
    act: clear,
    suspensions,
    conflict: mark,
    steps: [
      { task: 'A', text: `finds the mark: \`${textOf(check)}\``, at: check },
      {
        task: 'A',
        text: `waits, with the old value of ${content.name}: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      {
        task: 'B',
        text: `${marking} changes ${content.name} and marks it: \`${textOf(mark)}\``,
        at: mark,
      },
      { task: 'A', text: `clears the mark: \`${textOf(clear)}\``, at: clear },
      { task: 'B', text: 'its change is never worked on', at: mark },
    ],
    window: [1, 3],
    evidence: [
      `${marking} stores ${content.name} together with ${name}`,
      overlapOf(mark.owner)?.text ?? `${marking} runs at any time`,
    ],
    fixes: [clearFirst(name, [1, 4]), mutex(name, [2, 4])],
  }
}

export const clearedLatePage: RulePage = {
  id: 'H509',
  name: 'cleared-late',
  class: 'atomicity-gap',
  level: 'warning',
  summary: 'A mark that says there is work to do is cleared only after the work.',
  what: `A function finds a mark set, reads the marked state, waits, and then clears the mark. Another function changes
the same state and sets the mark. Between the suspension and the clearing nothing is checked.`,
  why: `A change during the wait is not part of the work, and its mark is cleared all the same: the last edit is
not saved, the last request to render again is dropped, until something else sets the mark.`,
  race: source`
    export class Draft {
      #text = ''
      #isDirty = false

      edit(text: string): void {
        this.#text = text
        this.#isDirty = true
      }

      async save(): Promise<void> {
        if (!this.#isDirty) return
        await upload(this.#text)
        this.#isDirty = false
      }
    }
  `,
  steps: [
    ['A', 'save(): the text was changed; uploads it: suspended'],
    ['B', 'edit(): changes the text and marks it'],
    ['A', 'clears the mark: the change of B is never uploaded'],
  ],
  window: [1, 3],
  fixed: source`
    export class Draft {
      #text = ''
      #isDirty = false

      edit(text: string): void {
        this.#text = text
        this.#isDirty = true
      }

      async save(): Promise<void> {
        if (!this.#isDirty) return
        this.#isDirty = false
        await upload(this.#text).catch((error: unknown) => {
          this.#isDirty = true
          throw error
        })
      }
    }
  `,
  fixes: [
    'Clear the mark in the region that reads the state, and set it again when the work fails.',
    'Count the changes, and clear the mark only when the count is still the same.',
  ],
}
