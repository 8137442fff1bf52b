/**
 * The other half of H401: a function that starts something (`connect`, `start`, `open`) waits and then
 * stores a handle without ever looking whether there is one. Two calls that overlap store two, and the
 * one that takes things down finds the last.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, recheck, singleFlight } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { isTeardown, lastName, overSuspension } from './walk.ts'

const starting =
  /^#?_*(?:start|connect|open|listen|init|initiali[sz]e|setup|launch|boot|restart|reconnect|reload|subscribe|register|attach|watch)/i

export function unguardedHandles(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!host.content.writes || !starting.test(lastName(host.unit))) continue
    for (const [location, accesses] of host.written) {
      const draft = from(model, host, location, accesses)
      if (draft === undefined) continue
      drafts.push(draft)
      break
    }
  }
  return drafts
}

function from(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
): Draft | undefined {
  if (location.scope !== 'instance' || location.depth !== 1) return undefined
  if (accesses.some(({ access }) => access.op === 'read' && access.checks.length > 0))
    return undefined
  const store = accesses.find(({ access }) => isHandle(access) && access.owner === host.unit)
  if (store === undefined) return undefined
  const way = overSuspension(
    host.graph,
    { block: host.graph.entry, index: -1 },
    (event) => event === store.access,
  )
  if (way === undefined) return undefined
  const closer = closerOf(model, location, host)
  if (closer === undefined) return undefined
  const end = { block: way.block, event: store.access }
  if (model.guardOver(host.unit, way.suspensions[0], store, end) !== undefined) return undefined
  const name = location.name
  const suspension = way.suspensions[0]!
  return {
    rule: 'H401',
    class: 'missing-guard',
    level: 'note',
    message: `${host.unit.namedAs} waits and then stores ${name} without looking whether there is one: two calls that overlap make two, and ${closer.owner.namedAs} closes one`,
    locations: [location],
    check: suspension,
    act: store.access,
    suspensions: way.suspensions,
    conflict: store.access,
    steps: [
      { task: 'A', text: `waits: \`${textOf(suspension)}\``, at: suspension, isCheckpoint: true },
      {
        task: 'B',
        text: `waits as well: \`${textOf(suspension)}\``,
        at: suspension,
        isCheckpoint: true,
      },
      { task: 'A', text: `stores its own: \`${textOf(store.access)}\``, at: store.access },
      { task: 'B', text: `stores another over it: the first one leaks`, at: store.access },
    ],
    window: [0, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'it is shared',
      `${closer.owner.namedAs} takes down what is stored there`,
    ],
    fixes: [singleFlight(name, 'this.start()', [1, 2]), recheck(name, [3, 4]), mutex(name, [1, 4])],
  }
}

/** Something with a lifetime of its own. */
function isHandle(access: Access): boolean {
  if (access.op !== 'write' || !isStore(access) || access.isInitial) return false
  const { value } = access
  if (value?.constructed !== undefined)
    return !/^(?:Map|Set|Date|Error|Array|URL|WeakMap)$/.test(value.constructed.name)
  return (
    value?.calls?.some((site) =>
      /^(?:create|connect|open|listen|spawn|launch)/i.test(site.name),
    ) === true
  )
}

/** A function that takes things down uses it. */
function closerOf(model: Model, location: Location, host: Host): Access | undefined {
  return model
    .accessesOf(location)
    .find(({ owner, use }) => owner.host !== host.unit && use !== undefined && isTeardown(owner))
}
