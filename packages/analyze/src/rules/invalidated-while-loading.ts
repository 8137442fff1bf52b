/**
 * H210 invalidated while loading: a task waits for an answer and stores it, without checking whether
 * another function has emptied the place in between. The removed value is back.
 *
 * The function that empties has to be one that callers use for just that: it is reached from outside, it
 * is not part of the task, and it does not store a new value itself.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { isOwnVariable } from '../ir/own-variable.ts'
import type { FunctionUnit } from '../ir/program.ts'
import { isStore } from '../summaries/effects.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Answer } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { generation, identityCheck } from './fixes.ts'
import type { Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function invalidatedWhileLoading(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    const { unit } = host
    if (!host.isWriting || unit.kind === 'constructor' || overlapOf(unit) === undefined) continue
    for (const { location, accesses, isChecked } of host.written) {
      if (!isComponentState(location) || isOwnVariable(location, unit) || !isChecked) continue
      // A handle that is stored too late is H308's and H101's.
      if (model.lifecycles.isHandle(location)) continue
      const store = accesses.find(({ access }) => isAnswer(access))?.access
      const reset = store && resetElsewhere(model, location, unit)
      if (store === undefined || reset === undefined) continue
      const way = unlookedWay(model, host, location, store)
      if (way === undefined) continue
      const from = accesses.find(({ access }) => access.op === 'read')!
      const end = { block: way.block, event: store }
      if (model.guardOver(unit, way.suspensions[0], from, end) === reset.guard && reset.guard)
        continue
      drafts.push(describe(host, location, store, reset.access, way))
      break
    }
  }
  return drafts
}

/** The answer of something that was waited for. */
function isAnswer({ op, kind, isInitial, value }: Access): boolean {
  return (
    op === 'write' &&
    kind === 'set' &&
    !isInitial &&
    value?.isAwaited === true &&
    ((value.calls?.length ?? 0) > 0 || (value.from?.length ?? 0) > 0)
  )
}

interface Reset {
  readonly access: Access
  readonly guard: string | undefined
}

function resetElsewhere(model: Model, location: Location, unit: FunctionUnit): Reset | undefined {
  for (const { access, host } of model.writesOf(location)) {
    if (access.isInitial || isStore(access) || host === unit) continue
    if (access.value?.literal !== 'null' && access.kind !== 'reset') continue
    if (!isEntrance(host) || isCalledBy(host, unit) || isCalledBy(unit, host)) continue
    if (storesItself(model, host, location)) continue
    return { access, guard: model.serial.guardOf(host) }
  }
  return undefined
}

/** Callers outside reach it, and nothing in the program runs it as a step of its own. */
function isEntrance(unit: FunctionUnit): boolean {
  if (unit.kind === 'constructor' || unit.kind === 'module') return false
  return unit.reach.has('exported') && unit.callers.length === 0
}

function isCalledBy(unit: FunctionUnit, by: FunctionUnit): boolean {
  return unit.callers.some(({ owner }) => owner.host === by)
}

function storesItself(model: Model, unit: FunctionUnit, location: Location): boolean {
  const { before, after } = model.summaries(unit)
  return before.get(location)?.store !== undefined || after.get(location)?.store !== undefined
}

function unlookedWay(
  model: Model,
  host: Host,
  location: Location,
  store: Access,
): Answer | undefined {
  return ask(
    host.graph,
    { block: host.graph.entry, index: -1 },
    {
      states: 2,
      start: 0,
      step(event, state) {
        if (event === store) return state === 1 ? found : stop
        if (event.op === 'suspend') return 1
        if (state === 0) return 0
        if (event.op === 'read' && event.checks.some(({ isIdentity }) => isIdentity)) return stop
        return (event.op === 'read' || event.op === 'call') && model.isCheckOf(event, location)
          ? stop
          : state
      },
    },
  )
}

function describe(
  host: Host,
  location: Location,
  store: Access,
  reset: Access,
  way: Answer,
): Draft {
  const suspension = way.suspensions.at(-1)!
  const { name } = location
  const by = reset.owner.namedAs
  return {
    rule: 'H210',
    class: 'stale-reference',
    level: 'warning',
    message: `${host.unit.namedAs} waits and then stores ${name} without checking whether ${by} has emptied it during the wait: the removed value is back`,
    locations: [location],
    check: suspension,
    act: store,
    suspensions: [suspension],
    conflict: reset,
    steps: [
      {
        task: 'A',
        text: `asks and waits: \`${textOf(suspension)}\``,
        at: suspension,
        isCheckpoint: true,
      },
      { task: 'B', text: `${by} empties ${name}: \`${textOf(reset)}\``, at: reset },
      { task: 'A', text: `stores the old answer: \`${textOf(store)}\``, at: store },
      { task: 'B', text: 'all later callers get the value that was removed', at: reset },
    ],
    window: [0, 3],
    evidence: [
      `${by} is there to empty ${name}, at any time`,
      overlapOf(host.unit)?.text ?? `${host.unit.namedAs} runs beside it`,
    ],
    fixes: [generation(name, [3, 4]), identityCheck(name, [3, 4])],
  }
}

export const invalidatedWhileLoadingPage: RulePage = {
  id: 'H210',
  name: 'invalidated-while-loading',
  class: 'stale-reference',
  level: 'warning',
  summary: 'An answer is stored after another function has emptied the place where it is kept.',
  what: `A function checks whether a value is there, waits for an answer, and stores it. Another
function, which callers use for that alone, empties the place. Between the suspension and the store nothing
is checked.`,
  why: `A user logs out, rotates a key or changes the configuration, and the cache is emptied. A request
that was on its way stores the answer from before the change. From now on every caller gets the old
session, key or configuration, until the next time.`,
  race: source`
    export class Keys {
      #keys: Key[] | undefined

      async get(): Promise<Key[]> {
        if (this.#keys) return this.#keys
        this.#keys = await fetchKeys()
        return this.#keys
      }

      forget(): void {
        this.#keys = undefined
      }
    }
  `,
  steps: [
    ['A', 'get(): await fetchKeys(), suspended'],
    ['B', 'the keys are rotated: forget()'],
    ['A', 'stores the keys of before'],
    ['B', 'get(): the old keys'],
  ],
  window: [1, 4],
  fixed: source`
    export class Keys {
      #keys: Promise<Key[]> | undefined

      get(): Promise<Key[]> {
        this.#keys ??= fetchKeys()
        return this.#keys
      }

      forget(): void {
        this.#keys = undefined
      }
    }
  `,
  fixes: [
    'Count up a generation where the place is emptied, and store only when it is still the same.',
    'Keep the promise: emptying the place then also discards loads under way.',
  ],
}
