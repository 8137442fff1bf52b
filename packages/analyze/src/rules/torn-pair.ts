/**
 * H503 torn pair: two locations that are changed together elsewhere are changed on different sides of a
 * suspension here. In between, one says one thing and the other another.
 *
 * Pairs are mined from the program: entries with the same key of two containers that are
 * written in one region, or fields that are emptied together in several places.
 */
import type { Access } from '../ir/graph.ts'
import { sharedContainerOf } from '../summaries/content.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, oneRegion } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { inSameRegion, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function tornPair(model: Model): Draft[] {
  const pairs = minePairs(model)
  if (pairs.size === 0) return []
  const drafts: Draft[] = []
  for (const host of model.hosts.severalContainers) {
    if (!host.graph.suspends) continue
    const draft = inHost(model, host, pairs)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

interface Pair {
  readonly first: Access
  readonly second: Access
}

/** Locations stored together belong together; locations removed together need not be stored together. */
function pairKey(first: Access, second: Access, isStored = isStore(first)): string {
  const a = sharedContainerOf(first.location.canonical)?.id ?? 0
  const b = sharedContainerOf(second.location.canonical)?.id ?? 0
  return `${isStored ? 'store' : 'drop'} ${Math.min(a, b)}:${Math.max(a, b)}`
}

function entryWrites(host: Host): Located[] {
  const writes: Located[] = []
  for (const { location, accesses } of host.written) {
    if (sharedContainerOf(location) === undefined) continue
    for (const one of accesses)
      if (one.access.op === 'write' && !one.access.isInitial) writes.push(one)
  }
  return writes.length > 40 ? [] : writes
}

/** Containers whose entries of the same key are written in one region somewhere. */
function minePairs(model: Model): Map<string, Pair> {
  const pairs = new Map<string, Pair>()
  for (const host of model.hosts.severalContainers) {
    const writes = entryWrites(host)
    for (const first of writes) {
      for (const second of writes) {
        if (!isPair(first.access, second.access)) continue
        const key = pairKey(first.access, second.access)
        if (pairs.has(key)) continue
        if (inSameRegion(host.graph, first, (event) => event === second.access) !== undefined)
          pairs.set(key, { first: first.access, second: second.access })
      }
    }
  }
  return pairs
}

/** Whether both use the same key in different containers, and both store or both remove. */
function isPair(a: Access, b: Access): boolean {
  const [one, two] = [a.location.canonical, b.location.canonical]
  return (
    a !== b &&
    one.entryKey === two.entryKey &&
    one.parent?.canonical !== two.parent?.canonical &&
    isStore(a) === isStore(b)
  )
}

function inHost(model: Model, host: Host, pairs: ReadonlyMap<string, Pair>): Draft | undefined {
  const writes = entryWrites(host)
  for (const first of writes) {
    for (const second of writes) {
      if (!isPair(first.access, second.access)) continue
      const key = pairKey(first.access, second.access)
      const pair = pairs.get(pairKey(first.access, second.access, true)) ?? pairs.get(key)
      if (pair === undefined || pair.first.owner.host === host.unit) continue
      if (inSameRegion(host.graph, first, (event) => event === second.access) !== undefined)
        continue
      const way = overSuspension(host.graph, first, (event) => event === second.access)
      if (way === undefined) continue
      const end = { block: way.block, event: second.access }
      if (model.guardOver(host.unit, way.suspensions[0], first, end) !== undefined) continue
      return describe(host, first.access, second.access, way.suspensions, pair)
    }
  }
  return undefined
}

function describe(
  host: Host,
  first: Access,
  second: Access,
  suspensions: Draft['suspensions'],
  pair: Pair,
): Draft {
  const [one, two] = [first.location.name, second.location.name]
  return {
    rule: 'H503',
    class: 'atomicity-gap',
    level: overlapOf(host.unit) === undefined ? 'note' : 'warning',
    message: `${host.unit.namedAs} changes ${one} and ${two} on different sides of a suspension; ${pair.first.owner.namedAs} changes them together`,
    locations: [first.location.canonical, second.location.canonical],
    check: first,
    act: second,
    suspensions,
    conflict: pair.second,
    steps: [
      { task: 'A', text: `\`${textOf(first)}\``, at: first },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      {
        task: 'B',
        text: `sees one without the other, or changes both: \`${textOf(pair.second)}\``,
        at: pair.second,
      },
      { task: 'A', text: `\`${textOf(second)}\``, at: second },
    ],
    window: [0, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'it is shared',
      `${pair.first.owner.namedAs} changes both in one region`,
    ],
    fixes: [oneRegion(one, two, [1, 4]), mutex(`${one} and ${two}`, [1, 4])],
  }
}

export const tornPairPage: RulePage = {
  id: 'H503',
  name: 'torn-pair',
  class: 'atomicity-gap',
  level: 'warning',
  summary:
    'Two fields that change together elsewhere are changed here on two sides of a suspension.',
  what: `In at least one other place two shared locations are written in one region. Here there is a
suspension between the two writes.`,
  why: `In between, one says that the thing exists and the other that it does not. Code that relies on
the pair goes wrong in a way that neither field explains.`,
  race: source`
    export class Cache {
      #values = new Map<string, string>()
      #resources = new Map<string, Resource>()

      put(key: string, value: string, resource: Resource): void {
        this.#values.set(key, value)
        this.#resources.set(key, resource)
      }

      async drop(key: string): Promise<void> {
        this.#values.delete(key)
        await this.#resources.get(key)?.close()
        this.#resources.delete(key)
      }

      get(key: string): string | undefined {
        if (this.#resources.has(key)) return this.#values.get(key)!.trim()
        return undefined
      }
    }
  `,
  steps: [
    ['A', 'drop(k): deletes the value'],
    ['A', 'await close(): suspended'],
    ['B', 'get(k): the resource is there, the value is not: TypeError'],
    ['A', 'deletes the resource'],
  ],
  window: [1, 4],
  fixed: source`
    export class Cache {
      #values = new Map<string, string>()
      #resources = new Map<string, Resource>()

      put(key: string, value: string, resource: Resource): void {
        this.#values.set(key, value)
        this.#resources.set(key, resource)
      }

      async drop(key: string): Promise<void> {
        const resource = this.#resources.get(key)
        this.#values.delete(key)
        this.#resources.delete(key)
        await resource?.close()
      }

      get(key: string): string | undefined {
        if (this.#resources.has(key)) return this.#values.get(key)!.trim()
        return undefined
      }
    }
  `,
  fixes: [
    'Change both in one region, and do the slow part before or after.',
    'Keep both in one object, and exchange the object.',
  ],
}
