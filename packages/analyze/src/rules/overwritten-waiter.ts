/**
 * H313 overwritten waiter: the `resolve` of a waiting caller is kept in one place, and the next caller stores its
 * own there without a check. The promise of the first caller is never settled.
 *
 * Lists of waiters are not reported, nor functions that check the place or set a flag first: they keep the
 * second caller out.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { isOwnVariable } from '../ir/own-variable.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { isCopy } from '../ir/splice.ts'
import type { Value } from '../ir/values.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { keepAllWaiters, singleFlight } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { hasStrongReach, overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { isCalledInTurn, isExecutor, isPartOf, isWithin } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function overwrittenWaiter(model: Model): Draft[] {
  const drafts: Draft[] = []
  const seen = new Set<FunctionUnit>()
  for (const executor of model.program.units) {
    const { host } = executor
    if (executor.params.length === 0 || host.graph === undefined || seen.has(host)) continue
    if (executor.kind !== 'callback' || !isExecutor(executor) || isOnlyOnce(executor)) continue
    const draft = inExecutor(model, model.hostOf(host), executor)
    if (draft === undefined) continue
    seen.add(host)
    drafts.push(draft)
  }
  return drafts
}

/** Two runs of the function cannot overlap. */
function isOnlyOnce({ parent, host }: FunctionUnit): boolean {
  // `provide(() => new Promise(…))`: the receiver of the function may call it at any time.
  if (parent?.kind === 'callback' && parent.role === 'later' && isProvider(parent)) return false
  if (!isCalledByUsers(host)) return true
  return (
    host.kind === 'constructor' ||
    host.kind === 'module' ||
    overlapOf(host) === undefined ||
    isCalledInTurn(host)
  )
}

/** Users or events call the function. A helper with one caller, such as a loop, waits once at a time. */
function isCalledByUsers(unit: FunctionUnit): boolean {
  return (
    unit.isExported ||
    unit.visibility === 'public' ||
    unit.callers.length === 0 ||
    hasStrongReach(unit)
  )
}

/** The function only makes the promise. */
function isProvider({ node }: FunctionUnit): boolean {
  return node.type === 'ArrowFunctionExpression' && node.body.type === 'NewExpression'
}

function inExecutor(model: Model, host: Host, executor: FunctionUnit): Draft | undefined {
  for (const { location, accesses } of host.written) {
    if (!isPlace(location, host.unit)) continue
    const kept = accesses.find(({ access }) => isKeptBy(access, executor))
    if (kept === undefined || !isHandedOut(executor)) continue
    const settler = settlerOf(model, location, executor)
    if (settler === undefined || model.serial.guardOf(host.unit) !== undefined) continue
    if (isUnlooked(model, host, location, kept)) return describe(host, location, kept, settler)
  }
  return undefined
}

function isPlace(location: Location, host: FunctionUnit): boolean {
  return isComponentState(location) && !isOwnVariable(location, host)
}

/** The stored value settles the promise: it is `resolve`, an object with `resolve`, or a function that calls `resolve`. */
function isKeptBy(access: Access, executor: FunctionUnit): boolean {
  const { op, kind, isInitial, owner, value } = access
  if (op !== 'write' || kind !== 'set' || isInitial || isCopy(access)) return false
  if (!isWithin(owner, executor) || value === undefined) return false
  return settles(value, executor) || isInLiteral(access, executor)
}

/** The text stores `resolve` or `{ resolve, reject }`: parameters with the name of a request or response have no value. */
function isInLiteral({ owner, end }: Access, { params }: FunctionUnit): boolean {
  const text = owner.file.parsed.text.slice(end, end + 200)
  const stored = /^\s*=\s*(?:([\w$]+)\s*(?:[;,)\n]|$)|\{([^{}]*)\})/.exec(text)
  const names = stored?.[1] ?? stored?.[2]
  return names !== undefined && names.split(/[^\w$]+/).includes(params[0]!)
}

function settles({ location, parts, unit }: Value, executor: FunctionUnit): boolean {
  if (location?.scope === 'parameter' && location.depth === 0)
    return location.unit === executor && location.field === executor.params[0]
  if (parts?.some((part) => settles(part, executor)) === true) return true
  return unit?.calls.some((site) => isCallOf(site, executor)) === true
}

function isCallOf({ callee }: CallSite, executor: FunctionUnit): boolean {
  if (callee.kind !== 'name' || callee.path.length > 0 || callee.name !== executor.params[0])
    return false
  const binding = callee.scope.find(callee.name)
  return binding?.kind === 'param' && binding.unit === executor
}

/** A caller waits for the promise. A promise that is only stored beside its `resolve` is a gate. */
function isHandedOut({ start, file }: FunctionUnit): boolean {
  const before = file.parsed.text.slice(Math.max(0, start - 120), start)
  return /(?:\bawait|\breturn|=>)\s*\(?\s*new\s+[\w$.]*Promise\s*(?:<[^()]*>)?\s*\(\s*(?:async\s*)?$/.test(
    before,
  )
}

/** Another function that reads the place. */
function settlerOf(
  model: Model,
  location: Location,
  { parent, host }: FunctionUnit,
): FunctionUnit | undefined {
  return model.readers.of(location).find((one) => one !== host && !isWithin(one, parent ?? host))
}

/** Some path from the entry to the store has no check that keeps a second caller out. */
function isUnlooked(model: Model, host: Host, location: Location, kept: Located): boolean {
  const { before } = model.summaries(host.unit)
  const taken = before.locations.filter((_, at) => before.effects[at]?.store !== undefined)
  const isKeepingOut = (event: Event): boolean => {
    switch (event.op) {
      case 'read':
        return (
          isPartOf(event.location.canonical, location) ||
          (event.checks.length > 0 && taken.includes(event.location.canonical))
        )
      case 'call':
        return event.checks.length > 0 && taken.some((one) => model.isCheckOf(event, one))
      case 'suspend':
        return event.awaited.length > 0 && event.joins.length === 0
      case 'acquire':
        return true
      case 'write':
      case 'release':
        return false
    }
  }
  const way = ask(
    host.graph,
    { block: host.graph.entry, index: -1 },
    {
      states: 1,
      start: 0,
      step: (event) => (event === kept.access ? found : isKeepingOut(event) ? stop : 0),
    },
  )
  return way !== undefined
}

function describe(
  host: Host,
  location: Location,
  { access }: Located,
  settler: FunctionUnit,
): Draft {
  const { name } = location
  const caller = access.owner.namedAs
  return {
    rule: 'H313',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${caller} keeps the waiting caller in ${name}, which has room for one: a second call replaces the first, whose promise is never settled`,
    locations: [location],
    check: access,
    act: access,
    suspensions: [],
    conflict: access,
    steps: [
      { task: 'A', text: `waits: \`${textOf(access)}\``, at: access, isCheckpoint: true },
      { task: 'B', text: `waits as well, in the same place: \`${textOf(access)}\``, at: access },
      { task: 'B', text: `${settler.namedAs} settles what is in ${name}: that of B`, at: access },
      { task: 'A', text: 'waits for ever', at: access },
    ],
    window: [0, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? `${caller} may be called twice`,
      `${caller} does not look at ${name} before it stores, and no flag keeps a second call out`,
    ],
    fixes: [keepAllWaiters(name, [2, 3]), singleFlight(name, 'this.wait()', [1, 2])],
  }
}

export const overwrittenWaiterPage: RulePage = {
  id: 'H313',
  name: 'overwritten-waiter',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'A waiting caller is replaced by the next one, and is never settled.',
  what: `A function makes a promise for its caller and keeps its \`resolve\` in a field or variable that has room
for one. It does not look whether another caller waits there, and no flag or lock keeps a second call out.
Another function settles what it finds in that place.`,
  why: `Only the last caller is woken. The promises of the others stay pending for ever: requests hang, and
nothing is logged.`,
  race: source`
    import type { EventEmitter } from 'node:events'

    export class Door {
      #wake: (() => void) | undefined

      constructor(sensor: EventEmitter) {
        sensor.on('opened', () => {
          this.#wake?.()
          this.#wake = undefined
        })
      }

      opened(): Promise<void> {
        return new Promise((resolve) => {
          this.#wake = resolve
        })
      }
    }
  `,
  steps: [
    ['A', 'opened(): keeps its resolve'],
    ['B', 'opened(): keeps its own in the same field'],
    ['B', 'the door opens: B is woken'],
    ['A', 'waits for ever'],
  ],
  window: [1, 4],
  fixed: source`
    import type { EventEmitter } from 'node:events'

    export class Door {
      #waiting: (() => void)[] = []

      constructor(sensor: EventEmitter) {
        sensor.on('opened', () => {
          for (const wake of this.#waiting.splice(0)) wake()
        })
      }

      opened(): Promise<void> {
        return new Promise((resolve) => {
          this.#waiting.push(resolve)
        })
      }
    }
  `,
  fixes: [
    'Keep all waiters in a list, and settle every one of them.',
    'Keep one promise that all callers wait for.',
    'Refuse a second caller while one waits.',
  ],
}
