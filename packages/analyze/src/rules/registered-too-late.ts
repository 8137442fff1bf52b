/**
 * H304 registered too late: a resource exists, a suspension follows, and only then it is entered into
 * the registry that close() walks. A close() in between misses it.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import { isStore } from '../summaries/effects.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { isWaiter } from './check-then-subscribe.ts'
import { closedCheck, registerFirst } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function registeredTooLate(model: Model): Draft[] {
  const registries = registriesOf(model)
  if (registries.size === 0) return []
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!host.isWriting) continue
    for (const { location, accesses } of host.written) {
      const registry =
        registries.get(location) ?? (location.parent && registries.get(location.parent.canonical))
      if (registry === undefined || registry.unit === host.unit) continue
      for (const add of accesses) {
        const draft = from(model, host, registry, add)
        if (draft === undefined) continue
        drafts.push(draft)
        break
      }
    }
  }
  return drafts
}

interface Registry {
  readonly location: Location
  readonly unit: FunctionUnit
  readonly walk: Access
}

/** Containers that a function walks, releasing their entries. */
function registriesOf(model: Model): Map<Location, Registry> {
  const registries = new Map<Location, Registry>()
  for (const host of model.hostsOf(model.lifecycles.releases)) {
    for (const { location, accesses } of host.groups) {
      if (
        location.scope !== 'instance' &&
        location.scope !== 'module' &&
        location.scope !== 'closure'
      )
        continue
      const walk = accesses.find(({ access }) => isWalk(access))
      if (walk !== undefined && isReleasedIn(model, host.unit, location))
        registries.set(location, { location, unit: host.unit, walk: walk.access })
    }
  }
  return registries
}

/** Its elements, or the entries under keys that are only known at run time. */
function isReleasedIn(model: Model, unit: FunctionUnit, location: Location): boolean {
  return model.lifecycles
    .releasedIn(unit)
    .some(
      (one) => one === location || (one.scope === 'entry' && one.parent?.canonical === location),
    )
}

/** `for (const x of set)`, `set.forEach(…)`, `[...map.values()]`: the whole container is read. */
function isWalk(access: Access): boolean {
  if (access.op !== 'read') return false
  const { text } = access.owner.file.parsed
  const before = text.slice(Math.max(0, access.start - 24), access.start)
  const after = text.slice(access.end, access.end + 12)
  const inside = text.slice(access.start, access.end)
  return (
    /(?:\b(?:of|in)\s*|\.\.\.|Array\.from\(|Object\.(?:values|keys|entries)\()$/.test(before) ||
    /^\.(?:length|size)\b/.test(after) ||
    /\.(?:length|size)$/.test(inside) ||
    (/\bwhile\s*\([^;]*$/.test(before) && /\.(?:pop|shift)\s*\(/.test(inside + after)) ||
    /^\s*\.\s*(?:forEach|map|values|entries|keys)\b/.test(after) ||
    /\.(?:forEach|map|values|entries|keys)\s*\(/.test(inside)
  )
}

const open = 0
const suspended = 1

function from(model: Model, host: Host, registry: Registry, add: Located): Draft | undefined {
  const { access } = add
  if (access.op !== 'write' || !isStore(access) || access.isInitial) return undefined
  if (isWaiter(access)) return undefined
  if (access.value?.literal !== undefined || access.kind === 'rmw') return undefined
  const changes = model.changesBy(registry.unit)
  const answer = ask(
    host.graph,
    { block: host.graph.entry, index: -1 },
    {
      states: 2,
      start: open,
      step(event: Event, state: number) {
        if (event === access) return state === suspended ? found : stop
        if (event.op === 'suspend')
          return event.kind === 'continuation' && isListener(event) ? stop : suspended
        if (state === suspended && changes.isCheckedBy(event)) return stop
        if (state === suspended && event.op === 'call' && event.name === 'throwIfAborted')
          return stop
        return state
      },
    },
  )
  const suspension = answer?.suspensions.at(-1)
  if (answer === undefined || suspension === undefined) return undefined
  if (model.serial.guardOf(host.unit) !== undefined) return undefined
  return describe(host, registry, access, suspension, answer.suspensions)
}

/** The time before a listener runs is not spent on preparing a resource. */
function isListener(event: {
  readonly start: number
  readonly end: number
  readonly owner: FunctionUnit
}): boolean {
  const text = event.owner.file.parsed.text.slice(event.start, event.end)
  return (
    /\.(?:on|once|addListener|addEventListener)\s*\(/.test(text.slice(0, 400)) &&
    !/\.then\s*\(/.test(text)
  )
}

function describe(
  host: Host,
  registry: Registry,
  add: Access,
  suspension: Draft['suspensions'][number],
  suspensions: Draft['suspensions'],
): Draft {
  const name = registry.location.name
  const start: Place = suspension
  return {
    rule: 'H304',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${host.unit.namedAs} enters a resource into ${name} only after a suspension: ${registry.unit.namedAs} in between misses it`,
    locations: [registry.location],
    check: start,
    act: add,
    suspensions,
    conflict: registry.walk,
    steps: [
      {
        task: 'A',
        text: `has a resource and waits: \`${textOf(start)}\``,
        at: start,
        isCheckpoint: true,
      },
      {
        task: 'B',
        text: `${registry.unit.namedAs} closes everything in ${name}: \`${textOf(registry.walk)}\``,
        at: registry.walk,
      },
      { task: 'A', text: `resumes and registers: \`${textOf(add)}\``, at: add },
      { task: 'A', text: 'the resource stays open: nobody will close it', at: add },
    ],
    window: [0, 2],
    evidence: [
      `${registry.unit.namedAs} walks ${name} and closes its entries`,
      overlapOf(host.unit)?.text ?? `${host.unit.namedAs} runs beside it`,
    ],
    fixes: [registerFirst(name, [1, 3]), closedCheck(name, [3, 4])],
  }
}

export const registeredTooLatePage: RulePage = {
  id: 'H304',
  name: 'registered-too-late',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'A resource is registered for clean-up only after a suspension.',
  what: `A resource is opened, the task is suspended, and only then the resource is put where close()
will find it.`,
  why: `A close() that comes in between closes everything but this one. The process does not end, or a
socket stays open for ever.`,
  race: source`
    export class Listener {
      readonly #connections = new Set<Connection>()

      async onSocket(socket: Socket): Promise<void> {
        const connection = await upgrade(socket)
        this.#connections.add(connection)
      }

      async close(): Promise<void> {
        for (const connection of this.#connections) connection.destroy()
        this.#connections.clear()
      }
    }
  `,
  steps: [
    ['A', 'onSocket(): a socket arrives'],
    ['A', 'await upgrade(socket): suspended'],
    ['B', 'close(): destroys all connections that are registered'],
    ['A', 'registers its connection: nobody will ever destroy it'],
  ],
  window: [2, 4],
  fixed: source`
    export class Listener {
      readonly #connections = new Set<Connection>()
      #isClosed = false

      async onSocket(socket: Socket): Promise<void> {
        const connection = await upgrade(socket)
        if (this.#isClosed) return connection.destroy()
        this.#connections.add(connection)
      }

      async close(): Promise<void> {
        this.#isClosed = true
        for (const connection of this.#connections) connection.destroy()
        this.#connections.clear()
      }
    }
  `,
  fixes: [
    'Register before the first suspension.',
    'After the suspension check whether close() has run, and close the resource yourself.',
    'Pass an AbortSignal that close() aborts.',
  ],
}
