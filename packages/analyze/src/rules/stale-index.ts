/**
 * H213 stale index: the index of an element is looked up, a suspension follows, and then the element at
 * that index is removed. When the list has changed meanwhile, it is another element.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { findAgain, removeFirst } from './fixes.ts'
import type { At, Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { perLocation } from './per-location.ts'
import { isComponentState } from './shared.ts'
import { overSuspension } from './walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function staleIndex(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    ({ location }, { unit }) => isComponentState(location) && unit.kind !== 'constructor',
    (host, location, accesses) => {
      for (const removal of accesses) {
        const draft =
          removal.access.kind === 'drop' ? from(model, host, location, removal) : undefined
        if (draft !== undefined) return draft
      }
      return undefined
    },
  )
}

const finders = new Set(['indexOf', 'lastIndexOf', 'findIndex', 'findLastIndex'])

function from(model: Model, host: Host, list: Location, removal: Located): Draft | undefined {
  const { access } = removal
  const splice = host.calls.find(
    ({ event }) =>
      event.name === 'splice' &&
      event.owner === access.owner &&
      event.start <= access.start &&
      event.end >= access.end &&
      event.receiver?.canonical === list,
  )
  const index = splice?.event.args[0]
  if (splice === undefined || index === undefined) return undefined
  for (const site of [...(index.calls ?? []), ...(index.from ?? [])]) {
    if (!finders.has(site.name) || site.receiver?.canonical !== list) continue
    const find = host.calls.find(({ event }) => event === site)
    const draft = find === undefined ? undefined : between(model, host, list, find, removal)
    if (draft !== undefined) return draft
  }
  return undefined
}

function between(
  model: Model,
  host: Host,
  list: Location,
  find: At<CallSite>,
  removal: Located,
): Draft | undefined {
  const way = overSuspension(
    host.graph,
    find,
    (event) => event === removal.access,
    (event) => event === find.event,
  )
  if (way === undefined) return undefined
  const end = { block: way.block, event: removal.access }
  if (model.guardOver(host.unit, way.suspensions[0], removal, end) !== undefined) return undefined
  const other = otherRemoval(model, host, list, removal.access)
  return other && describe(host, list, find.event, removal.access, way.suspensions, other)
}

/** What else takes elements out of the list meanwhile; this function itself when two of it overlap. */
function otherRemoval(model: Model, host: Host, list: Location, own: Access): Access | undefined {
  const other = model
    .writesOf(list)
    .find(
      ({ access, host: by }) =>
        access !== own &&
        !access.isInitial &&
        access.kind === 'drop' &&
        overlapOf(by) !== undefined,
    )
  return other?.access ?? (overlapOf(host.unit) === undefined ? undefined : own)
}

function describe(
  host: Host,
  list: Location,
  find: CallSite,
  removal: Access,
  suspensions: Draft['suspensions'],
  other: Access,
): Draft {
  const { name } = list
  const by = other.owner.namedAs
  return {
    rule: 'H213',
    class: 'stale-reference',
    level: 'warning',
    message: `${host.unit.namedAs} looks up an index of ${name}, waits, and removes what is then at that index: ${by} may have removed an element before it`,
    locations: [list],
    check: find,
    act: removal,
    suspensions,
    conflict: other,
    steps: [
      { task: 'A', text: `looks up the index: \`${textOf(find)}\``, at: find },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `${by} removes another element: \`${textOf(other)}\``, at: other },
      { task: 'A', text: `removes the wrong one: \`${textOf(removal)}\``, at: removal },
    ],
    window: [0, 3],
    evidence: [
      `${by} removes elements of ${name}`,
      overlapOf(other.owner.host)?.text ?? `${by} can be called`,
    ],
    fixes: [findAgain(name, [1, 4]), removeFirst(name, [1, 4])],
  }
}

export const staleIndexPage: RulePage = {
  id: 'H213',
  name: 'stale-index',
  class: 'stale-reference',
  level: 'warning',
  summary: 'An index is looked up, a suspension follows, and the element at that index is removed.',
  what: `A function looks up the index of an element of a shared list, waits, and then removes the element at
that index. Another function, or a second run of this one, removes elements of the same list.`,
  why: `When an element before it is removed during the wait, all indexes move by one: a stranger is removed
and the element that was meant stays. An index of -1 that was right before may be wrong by then as well.`,
  race: source`
    export class Pool {
      #items: Connection[] = []

      add(item: Connection): void {
        this.#items.push(item)
      }

      async remove(item: Connection): Promise<void> {
        const index = this.#items.indexOf(item)
        if (index === -1) return
        await item.flush()
        this.#items.splice(index, 1)
      }
    }
  `,
  steps: [
    ['A', 'remove(second): its index is 1, suspended'],
    ['B', 'remove(first): removes index 0'],
    ['A', 'removes index 1: that is the third'],
  ],
  window: [1, 3],
  fixed: source`
    export class Pool {
      #items: Connection[] = []

      add(item: Connection): void {
        this.#items.push(item)
      }

      async remove(item: Connection): Promise<void> {
        await item.flush()
        const index = this.#items.indexOf(item)
        if (index !== -1) this.#items.splice(index, 1)
      }
    }
  `,
  fixes: [
    'Look the index up in the region that removes the element.',
    'Remove the element before the wait.',
    'Keep the elements in a Set or a Map, where they have no index.',
  ],
}
