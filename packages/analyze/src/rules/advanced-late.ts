/**
 * H511 advanced late: a counter is handed to a call (as a number, a position, an offset), the call is
 * waited for, and only then the counter is advanced. Two callers that overlap use the same number, and
 * the counter is advanced twice: one is used twice and one is left out.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { advanceFirst, mutex } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { perLocation } from './per-location.ts'
import { isComponentState } from './shared.ts'
import { isCalledInTurn, isWithin, overSuspension } from './walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function advancedLate(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    (group, { unit }) =>
      isComponentState(group.location) &&
      group.isSharedIn(unit) &&
      unit.kind !== 'constructor' &&
      !isCalledInTurn(unit),
    (host, location, accesses) => {
      for (const advance of accesses) {
        const draft = isAdvance(advance.access)
          ? from(model, host, location, accesses, advance)
          : undefined
        if (draft !== undefined) return draft
      }
      return undefined
    },
  )
}

/** `n++`, `n += length`. */
function isAdvance(access: Access): boolean {
  if (access.kind !== 'rmw' || access.isInitial) return false
  const { text } = access.owner.file.parsed
  return (
    /\+\+\s*$/.test(text.slice(access.start - 3, access.start)) ||
    /\+\+|\+=/.test(text.slice(access.start, access.end)) ||
    /^\s*(?:\+\+|\+=)/.test(text.slice(access.end, access.end + 4))
  )
}

function from(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
  advance: Located,
): Draft | undefined {
  for (const wait of host.suspensions) {
    const call = wait.event.joins.find((site) => isHanded(site, location))
    if (call === undefined || !isWithin(advance.access.owner, call.owner)) continue
    for (const read of accesses) {
      if (!isGivenTo(call, read.access)) continue
      const way = overSuspension(
        host.graph,
        read,
        (event) => event === advance.access,
        (event, isAfter) =>
          (event.op === 'write' &&
            event.location.canonical === location &&
            event !== advance.access) ||
          (event === advance.access && !isAfter) ||
          (isAfter && model.isCheckOf(event, location)),
      )
      if (way === undefined || !way.suspensions.includes(wait.event)) continue
      const end = { block: way.block, event: advance.access }
      if (model.guardOver(host.unit, wait.event, read, end) !== undefined) continue
      if (overlapOf(host.unit) === undefined) continue
      return describe(host, location, read.access, call, advance.access, way.suspensions)
    }
  }
  return undefined
}

/** The number itself is an argument, beside something else or of a call whose answer is used. */
function isHanded({ args, isDiscarded }: CallSite, location: Location): boolean {
  return (
    (args.length > 1 || !isDiscarded) &&
    args.some((value) => value.location?.canonical === location)
  )
}

/** The read whose value the call is given: an argument, or kept in a variable that is one. */
function isGivenTo({ args }: CallSite, read: Access): boolean {
  return read.op === 'read' && args.some(({ reads }) => reads?.includes(read) === true)
}

function describe(
  host: Host,
  location: Location,
  read: Access,
  call: CallSite,
  advance: Access,
  suspensions: Draft['suspensions'],
): Draft {
  const { name } = location
  const { namedAs } = host.unit
  return {
    rule: 'H511',
    class: 'atomicity-gap',
    level: 'warning',
    message: `${namedAs} hands ${name} to ${call.name}, waits, and advances it only then: two calls that overlap use the same number`,
    locations: [location],
    check: read,
    act: advance,
    suspensions,
    conflict: advance,
    steps: [
      { task: 'A', text: `uses ${name}: \`${textOf(call)}\``, at: call },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `uses the same number: \`${textOf(call)}\``, at: call },
      { task: 'A', text: `advances it: \`${textOf(advance)}\``, at: advance },
      { task: 'B', text: 'advances it once more: a number is left out', at: advance },
    ],
    window: [0, 3],
    evidence: [
      `${name} is not advanced before \`${textOf(suspensions[0]!)}\``,
      overlapOf(host.unit)?.text ?? `${namedAs} can be called`,
    ],
    fixes: [advanceFirst(name, [1, 4]), mutex(name, [1, 5])],
  }
}

export const advancedLatePage: RulePage = {
  id: 'H511',
  name: 'advanced-late',
  class: 'atomicity-gap',
  level: 'warning',
  summary: 'A counter or position is used in a call and advanced only after the wait for it.',
  what: `A function hands a shared number to a call: the number of the next entry, a position in a file, an
offset. It waits for the call, and only then it advances the number.`,
  why: `A second call during the wait finds the same number: it overwrites the entry of the first, or reads
the same part of the file. Then both advance the number, so that a number is left out.`,
  race: source`
    export class Log {
      #position = 0

      async append(line: Buffer): Promise<void> {
        await write(line, this.#position)
        this.#position += line.length
      }
    }
  `,
  steps: [
    ['A', 'append(): writes at 0, suspended'],
    ['B', 'append(): writes at 0 as well'],
    ['A', '#position is moved, and B moves it again: a hole'],
  ],
  window: [1, 3],
  fixed: source`
    export class Log {
      #position = 0

      async append(line: Buffer): Promise<void> {
        const position = this.#position
        this.#position += line.length
        await write(line, position)
      }
    }
  `,
  fixes: [
    'Keep the number in a variable and advance it in the same region, before the wait.',
    'Let calls wait for each other: a mutex or a queue.',
  ],
}
