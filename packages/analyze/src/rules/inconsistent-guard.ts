/**
 * H402 inconsistent guard: a location is changed under a guard in several places and without it in
 * another. The guarded places show the intent.
 */
import { isKeyed } from '../guards/key.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, scoped } from './fixes.ts'
import type { Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function inconsistentGuard(model: Model): Draft[] {
  const guarded = new Map<Location, { readonly guard: string; readonly at: Located }[]>()
  const open = new Map<Location, Located[]>()
  const candidates = new Set<Location>()
  for (const host of model.hosts.guarding) {
    for (const { location, accesses } of host.groups) {
      if (location.scope !== 'instance' && location.scope !== 'module') continue
      for (const at of accesses) {
        const [guard] = model.held.at(host.graph, at.block.id, at.access)
        if (guard === undefined) continue
        add(guarded, location, { guard, at })
        if (at.access.op === 'write') candidates.add(location)
      }
    }
  }
  const drafts: Draft[] = []
  for (const location of candidates) {
    const places = guarded.get(location) ?? []
    const units = new Set(places.map((one) => one.at.access.owner.namedAs))
    const guard = places[0]?.guard
    if (units.size < 2 || guard === undefined || !places.every((one) => one.guard === guard))
      continue
    for (const at of model.writesOf(location)) {
      if (at.access.isInitial || places.some((one) => one.at.access === at.access)) continue
      if (units.has(at.access.owner.namedAs) || model.serial.guardOf(at.host) !== undefined)
        continue
      add(open, location, at)
    }
    const [first] = open.get(location) ?? []
    if (first !== undefined) drafts.push(describe(location, first, places[0]!.at))
  }
  drafts.push(...operations(model))
  return drafts
}

// ---- operations of one handle

interface Operation {
  readonly site: CallSite
  readonly guard: string
}

/** How many functions must wait for an operation of a handle under one guard, before it counts as the intent. */
const enoughFunctions = 2

/** A connection, a page, a transaction: its operations are waited for under a guard, and one is not. */
function operations(model: Model): Draft[] {
  const guarded = new Map<Location, Operation[]>()
  for (const host of model.hosts.guarding)
    for (const { event: site, block } of host.calls) {
      const handle = handleOf(site)
      if (handle === undefined) continue
      const [guard] = model.held.at(host.graph, block.id, site)
      if (guard !== undefined && !isKeyed(guard)) add(guarded, handle, { site, guard })
    }
  const drafts: Draft[] = []
  for (const [handle, places] of guarded) {
    const [{ guard, site: inside }] = places as [Operation]
    const units = new Set(places.map(({ site }) => site.owner.host))
    if (units.size < enoughFunctions || places.some((one) => one.guard !== guard)) continue
    const open = model.hosts.suspending
      .filter(({ unit }) => !units.has(unit) && unit.class === inside.owner.host.class)
      .flatMap((host) => host.awaited)
      .map(({ event }) => event)
      .filter((site) => handleOf(site) === handle && isOpen(model, site))
    // If as many accesses are outside as inside, the guard protects something else.
    if (open.length > 0 && open.length < units.size)
      drafts.push(describeOperation(handle, open[0]!, inside))
  }
  return drafts
}

/** The place of the component that an operation is waited for on. */
function handleOf({ receiver, isAwaited, isReturned }: CallSite): Location | undefined {
  const location = receiver?.canonical
  if (location === undefined || location.depth === 0 || !(isAwaited || isReturned)) return undefined
  return isComponentState(location) ? location : undefined
}

/** It may run at any time, nothing serialises it, and it does not end the handle. */
function isOpen(model: Model, site: CallSite): boolean {
  const { host } = site.owner
  return (
    !model.lifecycles.isRelease(site) &&
    host.kind !== 'constructor' &&
    overlapOf(host) !== undefined &&
    model.serial.guardOf(host) === undefined
  )
}

function describeOperation(location: Location, open: CallSite, inside: CallSite): Draft {
  const { name } = location
  const suspension = inside.owner.suspensions[0]
  return {
    rule: 'H402',
    class: 'missing-guard',
    level: 'warning',
    message: `${open.owner.namedAs} works on ${name} without the guard under which ${inside.owner.namedAs} and other functions do: \`${textOf(open, 40)}\``,
    locations: [location],
    check: open,
    act: open,
    suspensions: suspension === undefined ? [] : [suspension],
    conflict: inside,
    steps: [
      { task: 'B', text: `takes the guard: \`${textOf(inside)}\``, at: inside },
      {
        task: 'B',
        text: 'waits for the answer, with the guard held',
        at: suspension ?? inside,
        isCheckpoint: true,
      },
      { task: 'A', text: `starts another operation: \`${textOf(open)}\``, at: open },
      { task: 'B', text: `${name} has two operations under way`, at: inside },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(open.owner)?.text ?? overlapOf(open.owner.host)?.text ?? 'it is shared',
      `the other operations of ${name} are guarded`,
    ],
    fixes: [scoped([3, 3]), mutex(name, [1, 4])],
  }
}

function describe(location: Location, open: Located, guarded: Located): Draft {
  const name = location.name
  const suspension = guarded.access.owner.suspensions[0]
  return {
    rule: 'H402',
    class: 'missing-guard',
    level: overlapOf(open.access.owner) === undefined ? 'note' : 'warning',
    message: `${open.access.owner.namedAs} writes ${name} without the guard under which ${guarded.access.owner.namedAs} and other functions change it`,
    locations: [location],
    check: open.access,
    act: open.access,
    suspensions: suspension === undefined ? [] : [suspension],
    conflict: guarded.access,
    steps: [
      {
        task: 'B',
        text: `takes the guard and works with ${name}: \`${textOf(guarded.access)}\``,
        at: guarded.access,
      },
      {
        task: 'B',
        text: 'waits, with the guard held',
        at: suspension ?? guarded.access,
        isCheckpoint: true,
      },
      { task: 'A', text: `writes without asking: \`${textOf(open.access)}\``, at: open.access },
      {
        task: 'B',
        text: `resumes with the value that it read before, and overwrites the newer one`,
        at: guarded.access,
      },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(open.access.owner)?.text ?? 'it is shared',
      `${name} is guarded everywhere else`,
    ],
    fixes: [scoped([3, 3]), mutex(name, [1, 4])],
  }
}

function add<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}

export const inconsistentGuardPage: RulePage = {
  id: 'H402',
  name: 'inconsistent-guard',
  class: 'missing-guard',
  level: 'error',
  summary: 'State that is guarded in most places is accessed without the guard in another.',
  what: `A shared location is accessed under one guard in at least two places, and without it in a
region that may overlap them.`,
  why: `One author knew that it needs the guard, another one did not. The guard protects nothing as
long as one path avoids it.`,
  race: source`
    import { Mutex } from 'async-mutex'

    export class Store {
      readonly #lock = new Mutex()
      #entries: string[] = []

      async add(entry: string): Promise<void> {
        await this.#lock.runExclusive(async () => {
          const entries = [...this.#entries, entry]
          await save(entries)
          this.#entries = entries
        })
      }

      async remove(entry: string): Promise<void> {
        await this.#lock.runExclusive(async () => {
          const entries = this.#entries.filter((each) => each !== entry)
          await save(entries)
          this.#entries = entries
        })
      }

      async clear(): Promise<void> {
        await save([])
        this.#entries = []
      }
    }
  `,
  steps: [
    ['A', 'add(): holds the lock, copies the entries'],
    ['A', 'await save(): suspended'],
    ['B', 'clear(): takes no lock, saves and empties the list'],
    ['A', 'writes its copy: the cleared entries are back, in memory only'],
  ],
  window: [2, 4],
  fixed: source`
    import { Mutex } from 'async-mutex'

    export class Store {
      readonly #lock = new Mutex()
      #entries: string[] = []

      async add(entry: string): Promise<void> {
        await this.#lock.runExclusive(async () => {
          const entries = [...this.#entries, entry]
          await save(entries)
          this.#entries = entries
        })
      }

      async remove(entry: string): Promise<void> {
        await this.#lock.runExclusive(async () => {
          const entries = this.#entries.filter((each) => each !== entry)
          await save(entries)
          this.#entries = entries
        })
      }

      async clear(): Promise<void> {
        await this.#lock.runExclusive(async () => {
          await save([])
          this.#entries = []
        })
      }
    }
  `,
  fixes: [
    'Take the same guard here as well.',
    'If this path cannot overlap the others, say so: /** @serial */ or a suppression with the reason.',
  ],
}
