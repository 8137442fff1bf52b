/**
 * The other half of H401: a function that starts something (`connect`, `start`, `open`) waits and then
 * stores a handle without ever looking whether there is one. Two calls that overlap store two, and the
 * one that takes things down finds the last.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { ownerIn } from '../ir/splice.ts'
import { isStore } from '../summaries/effects.ts'
import type { Answer } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, recheck, singleFlight } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { SharedAccesses } from './shared-accesses.ts'
import { isTeardown, lastName, overSuspension } from './event-walk.ts'

const starting =
  /^#?_*(?:start|connect|open|listen|init|initiali[sz]e|setup|launch|boot|restart|reconnect|reload|subscribe|register|attach|watch)/i

export function unguardedHandles(model: Model): Draft[] {
  const candidates = model.hosts.suspending.flatMap((host) => storesAfterWaiting(host))
  if (candidates.length === 0) return []
  const accesses = new SharedAccesses(
    model.summaries.uses,
    candidates.map(({ location }) => location),
  )
  const drafts = new Map<Host, Draft>()
  for (const candidate of candidates) {
    if (drafts.has(candidate.host)) continue
    const draft = from(model, candidate, accesses)
    if (draft !== undefined) drafts.set(candidate.host, draft)
  }
  return [...drafts.values()]
}

/** A handle that is stored behind a suspension, without a check of the place. */
interface Candidate {
  readonly host: Host
  readonly location: Location
  readonly store: Located
  readonly way: Answer
}

const none: readonly Candidate[] = []

function storesAfterWaiting(host: Host): readonly Candidate[] {
  if (!host.isWriting || !starting.test(lastName(host.unit))) return none
  const candidates: Candidate[] = []
  for (const { location, accesses, isChecked } of host.written) {
    if (location.scope !== 'instance' || location.depth !== 1 || isChecked) continue
    const store = accesses.find(({ access }) => isHandle(access) && ownerIn(access) === host.unit)
    if (store === undefined) continue
    const way = overSuspension(
      host.graph,
      { block: host.graph.entry, index: -1 },
      (event) => event === store.access,
    )
    if (way !== undefined) candidates.push({ host, location, store, way })
  }
  return candidates
}

function from(
  model: Model,
  { host, location, store, way }: Candidate,
  accesses: SharedAccesses,
): Draft | undefined {
  const closer = accesses.of(location).find((access) => isClosing(access, host))
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
      `${closer.owner.namedAs} releases the stored handle`,
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

/** Another function, one that takes things down, uses it. */
function isClosing({ owner, use }: Access, host: Host): boolean {
  return owner.host !== host.unit && use !== undefined && isTeardown(owner)
}
