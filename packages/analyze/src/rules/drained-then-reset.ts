/**
 * H506 drained then reset: a container is walked or handed over, a suspension follows, and then the
 * whole container is emptied. Entries that other code added during the suspension are lost.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { ownerIn } from '../ir/splice.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { swapBeforeWait, whileNotEmpty } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { hasStrongReach, overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { perLocation } from './per-location.ts'
import { isComponentState } from './shared.ts'
import { isPartOf, isWithin, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function drainedThenReset(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    ({ location }, host) => isComponentState(location) && host.unit.kind !== 'constructor',
    (host, location, accesses) => {
      for (const read of accesses) {
        const draft =
          isTakenWhole(read.access) || isTakenAsAlias(read.access)
            ? from(model, host, location, read)
            : undefined
        if (draft !== undefined) return draft
      }
      return undefined
    },
  )
}

const walking = /^\s*\.\s*(?:forEach|map|values|entries|join|slice|filter|reduce)\b/

/** The elements are used: it is walked, spread, or an argument of a call. */
export function isTakenWhole(access: Access): boolean {
  if (access.op !== 'read' || access.checks.length > 0) return false
  const { text } = access.owner.file.parsed
  const before = text.slice(Math.max(0, access.start - 24), access.start)
  const after = text.slice(access.end, access.end + 16)
  const own = text.slice(access.start, access.end)
  return (
    /(?:\bof\s*|\.\.\.|\(\s*|,\s*)$/.test(before) ||
    walking.test(after) ||
    /\.(?:forEach|map|values|entries|join|slice|filter|reduce)\s*\(/.test(own)
  )
}

/** `const items = this.items`: what is done with the name is done with the container. */
function isTakenAsAlias(access: Access): boolean {
  if (access.op !== 'read' || access.checks.length > 0) return false
  return aliasOf(access) !== undefined
}

function aliasOf({ owner, start, end }: Access): string | undefined {
  const { text } = owner.file.parsed
  if (!/^\s*(?:;|\r?\n)/.test(text.slice(end, end + 8))) return undefined
  const before = text.slice(Math.max(owner.start, start - 80), start)
  return /\b(?:const|let|var)\s+([\w$]+)\s*(?::[^=;]*)?=\s*$/.exec(before)?.[1]
}

/** Entries of the old container that came during the wait are still seen through the alias. */
function isSeenAfter(alias: string, reset: Access): boolean {
  const { parsed } = reset.owner.file
  const rest = parsed.text.slice(reset.end, reset.owner.host.end)
  return new RegExp(`(?<![\\w$.])${alias.replaceAll('$', '\\$')}(?![\\w$])`).test(rest)
}

function isReset(event: Event, location: Location): boolean {
  if (event.op !== 'write' || event.location.canonical !== location || event.isInitial) return false
  return (
    event.kind === 'reset' &&
    (event.value?.literal === undefined || isCutOff(event) || isEmptyText(event))
  )
}

/** `this.text = ''`. */
function isEmptyText({ owner, end }: Access): boolean {
  return /^\s*=\s*(?:''|""|``)/.test(owner.file.parsed.text.slice(end, end + 12))
}

/** `list.length = 0`: a container is emptied, not a number set to zero. */
function isCutOff({ owner, start, end }: Access): boolean {
  return owner.file.parsed.text.slice(start, end).endsWith('.length')
}

/** The object in front of `.length = 0` or `.clear()` is read only to empty it. */
function isReadToEmpty({ owner, end }: Access): boolean {
  return /^\??\.(?:length\s*=[^=]|clear\s*\()/.test(owner.file.parsed.text.slice(end, end + 14))
}

function from(model: Model, host: Host, location: Location, read: Located): Draft | undefined {
  const way = overSuspension(
    host.graph,
    read,
    (event) => isReset(event, location),
    (event, isAfter) =>
      isReset(event, location) ||
      (isAfter &&
        (event.op === 'read' || event.op === 'call') &&
        event.checks.length > 0 &&
        model.isCheckOf(event, location)) ||
      (isAfter &&
        event.op === 'read' &&
        event.location.canonical === location &&
        event !== read.access &&
        !isReadToEmpty(event)),
  )
  const reset = way?.event as Access | undefined
  if (way === undefined || reset === undefined || !isWithin(ownerIn(reset), ownerIn(read.access)))
    return undefined
  const alias = isTakenWhole(read.access) ? undefined : aliasOf(read.access)
  if (alias !== undefined && isSeenAfter(alias, reset)) return undefined
  const adder = adderOf(model, location, host)
  if (adder === undefined) return undefined
  const end = { block: way.block, event: reset }
  if (model.guardOver(host.unit, way.suspensions[0], read, end) !== undefined) return undefined
  return describe(host, location, read.access, reset, way.suspensions, adder)
}

/** Another function that puts something in, at any time. */
function adderOf(model: Model, location: Location, host: Host): Access | undefined {
  for (const other of model.summaries.uses.hostsOf(location)) {
    if (other === host.unit || overlapOf(other) === undefined) continue
    const found = inside(model, other, location)
    if (found !== undefined) return found
  }
  const { parent } = location
  if (parent !== undefined) return undefined
  for (const one of model.writesOfField(location.field))
    if (
      one.host !== host.unit &&
      isAdding(one.access) &&
      isPartOf(one.access.location.canonical, location) &&
      overlapOf(one.host) !== undefined
    )
      return one.access
  return undefined
}

function inside(model: Model, unit: Host['unit'], location: Location): Access | undefined {
  for (const { location: candidate, accesses } of model.hostOf(unit).groups) {
    if (!isPartOf(candidate, location)) continue
    const add = accesses.find(({ access }) => isAdding(access))
    if (add !== undefined) return add.access
  }
  return undefined
}

function isAdding(access: Access): boolean {
  return (
    access.op === 'write' &&
    !access.isInitial &&
    isStore(access) &&
    (access.kind === 'append' || access.kind === 'fill' || access.kind === 'rmw')
  )
}

function describe(
  host: Host,
  location: Location,
  read: Access,
  reset: Access,
  suspensions: Draft['suspensions'],
  adder: Access,
): Draft {
  const { name } = location
  const overlap = overlapOf(host.unit)
  const adding = adder.owner.namedAs
  return {
    rule: 'H506',
    class: 'atomicity-gap',
    level: overlap === undefined ? 'note' : hasStrongReach(adder.owner.host) ? 'error' : 'warning',
    message: `${host.unit.namedAs} uses the content of ${name}, waits, and then empties it: entries that ${adding} added during the wait are lost`,
    locations: [location],
    check: read,
    act: reset,
    suspensions,
    conflict: adder,
    steps: [
      { task: 'A', text: `uses the content of ${name}: \`${textOf(read)}\``, at: read },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `${adding} puts one more in: \`${textOf(adder)}\``, at: adder },
      { task: 'A', text: `empties it: \`${textOf(reset)}\``, at: reset },
      { task: 'B', text: 'what it put in is gone, and nothing was done with it', at: adder },
    ],
    window: [0, 3],
    evidence: [
      `${adding} adds to ${name}`,
      overlap === undefined ? 'it runs at start-up only' : overlap.text,
    ],
    fixes: [swapBeforeWait(name, [1, 4]), whileNotEmpty(name, [3, 5])],
  }
}

export const drainedThenResetPage: RulePage = {
  id: 'H506',
  name: 'drained-then-reset',
  class: 'atomicity-gap',
  level: 'error',
  summary: 'A container is used, a suspension follows, and then all of it is emptied.',
  what: `A function walks a shared list, set or map, or hands it over, waits, and then empties the whole
container. Another function adds to it, and nothing is checked between the suspension and the emptying.`,
  why: `What arrives during the suspension is removed although nothing was done with it: events that are
never sent, promises that are never waited for, connections that are never closed.`,
  race: source`
    export class Reporter {
      #events: string[] = []

      track(event: string): void {
        this.#events.push(event)
      }

      async flush(): Promise<void> {
        await send(this.#events)
        this.#events = []
      }
    }
  `,
  steps: [
    ['A', 'flush(): sends the current entries, suspended'],
    ['B', 'track(): adds one more'],
    ['A', 'empties the list: the new one was never sent'],
  ],
  window: [1, 3],
  fixed: source`
    export class Reporter {
      #events: string[] = []

      track(event: string): void {
        this.#events.push(event)
      }

      async flush(): Promise<void> {
        const events = this.#events
        this.#events = []
        await send(events)
      }
    }
  `,
  fixes: [
    'Take the container away before the suspension: keep it in a variable and store an empty one.',
    'Remove only the used entries, one by one.',
    'Repeat until it is empty.',
  ],
}
