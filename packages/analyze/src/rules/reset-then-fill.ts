/**
 * H502 reset then fill: a location is emptied before a suspension and filled after it. Others read it
 * empty in between, and two such functions that overlap fill it twice.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, swapAtOnce } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { hasStrongReach, overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { firstPerLocation } from './per-location.ts'
import { reaches } from '../summaries/paths.ts'
import { isPartOf, isStoreTo, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function resetThenFill(model: Model): Draft[] {
  return firstPerLocation(model, {
    isAsked: ({ unit }) => unit.kind !== 'constructor',
    begins: isReset,
    draft: (host, location, begin) => from(model, host, location, begin),
  })
}

/** Emptied, not just marked: `false` and `0` are states, an empty list is a hole. */
function isReset(access: Access): boolean {
  if (access.op !== 'write' || access.isInitial) return false
  return access.kind === 'reset' && access.value?.literal !== 'zero'
}

function from(model: Model, host: Host, location: Location, reset: Located): Draft | undefined {
  const way = overSuspension(
    host.graph,
    reset,
    (event) => isStoreTo(event, location) && event.value?.literal === undefined,
    (event, isAfter) =>
      (isAfter &&
        event.op === 'read' &&
        event.checks.length > 0 &&
        isPartOf(event.location.canonical, location)) ||
      (event.op === 'write' &&
        event !== reset.access &&
        event.location.canonical === location &&
        event.kind === 'reset'),
  )
  const fill = way?.event as Access | undefined
  if (way === undefined || fill === undefined || fill.owner.role === 'event') return undefined
  // The value saved before is put back.
  if (fill.value?.location?.canonical === location) return undefined
  if (way.block.cleanup === 1 && isOfOldValue(fill, location)) return undefined
  const end = { block: way.block, event: fill }
  if (model.guardOver(host.unit, way.suspensions[0], reset, end) !== undefined) return undefined
  if (isMadeWhenAbsent(host, location, reset)) return undefined
  const reader = readerOf(model, location, host)
  if (reader === undefined) return undefined
  return describe(host, location, reset.access, fill, way.suspensions, reader)
}

/** `x ??= new Map()`, `if (!x) x = []`: there was nothing that could have been emptied. */
function isMadeWhenAbsent(host: Host, location: Location, { block }: Located): boolean {
  const { graph } = host
  return host
    .accessesOf(location)
    .some(({ access }) =>
      access.checks.some(
        ({ branch, whenPresent, whenAbsent }) =>
          whenPresent !== undefined &&
          whenAbsent !== undefined &&
          reaches(graph, whenAbsent, block, branch.blocks) &&
          !reaches(graph, whenPresent, block, branch.blocks),
      ),
    )
}

/** An error handler puts the removed value back. */
function isOfOldValue({ value }: Access, location: Location): boolean {
  return value?.reads?.some((read) => read.location.canonical === location) === true
}

/** Other code that reads it, at any time. */
function readerOf(model: Model, location: Location, host: Host): Access | undefined {
  for (const other of model.readers.of(location)) {
    if (other === host.unit || overlapOf(other) === undefined) continue
    for (const { location: candidate, accesses } of model.hostOf(other).groups) {
      if (!isPartOf(candidate, location)) continue
      const read = accesses.find(({ access }) => access.op === 'read' && !access.isInitial)
      if (read !== undefined) return read.access
    }
  }
  return undefined
}

function describe(
  host: Host,
  location: Location,
  reset: Access,
  fill: Access,
  suspensions: Draft['suspensions'],
  reader: Access,
): Draft {
  const overlap = overlapOf(host.unit)
  const name = location.name
  return {
    rule: 'H502',
    class: 'atomicity-gap',
    level: overlap === undefined ? 'note' : hasStrongReach(host.unit) ? 'error' : 'warning',
    message: `${host.unit.namedAs} empties ${name} before a suspension and fills it after: ${reader.owner.namedAs} sees it empty in between`,
    locations: [location],
    check: reset,
    act: fill,
    suspensions,
    conflict: reader,
    steps: [
      { task: 'A', text: `empties ${name}: \`${textOf(reset)}\``, at: reset },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      {
        task: 'B',
        text: `${reader.owner.namedAs} reads it: \`${textOf(reader)}\`: nothing is there`,
        at: reader,
      },
      { task: 'A', text: `fills it: \`${textOf(fill)}\``, at: fill },
    ],
    window: [0, 3],
    evidence: [
      overlap === undefined ? 'it runs at start-up only' : `may overlap: ${overlap.text}`,
      `${reader.owner.namedAs} reads ${name} at any time`,
    ],
    fixes: [swapAtOnce(name, [1, 4]), mutex(name, [1, 4])],
  }
}

export const resetThenFillPage: RulePage = {
  id: 'H502',
  name: 'reset-then-fill',
  class: 'atomicity-gap',
  level: 'error',
  summary:
    'State is emptied before a suspension and filled after it, and other functions read it in between.',
  what: `A shared location is reset (cleared, emptied, set to undefined), the task is suspended, and
the location is filled again; another function reads it.`,
  why: `Readers see nothing where something always is: an empty list of routes, a missing user. If the
suspension fails, it stays empty.`,
  race: source`
    const routes = new Map<string, string>()

    export async function reload(): Promise<void> {
      routes.clear()
      for (const [path, target] of await readRoutes()) routes.set(path, target)
    }

    export function resolve(path: string): string | undefined {
      return routes.get(path)
    }
  `,
  steps: [
    ['A', 'reload(): clears the routes'],
    ['A', 'await readRoutes(): suspended'],
    ['B', 'resolve(): there is no such route, 404'],
    ['A', 'fills in the routes'],
  ],
  window: [1, 4],
  fixed: source`
    let routes = new Map<string, string>()

    export async function reload(): Promise<void> {
      const next = new Map(await readRoutes())
      routes = next
    }

    export function resolve(path: string): string | undefined {
      return routes.get(path)
    }
  `,
  fixes: [
    'Make the new state beside the old one, and exchange them in one step.',
    'Empty it only after the suspension, in the region that fills it.',
  ],
}
