/**
 * H308 restarted after stop: a task waits and then stores a timer or another handle, without looking
 * whether it was stopped meanwhile. The function that releases that handle has already done so and will not do it again.
 *
 * The usual form is a loop: `await work(); this.timer = setTimeout(…)`, with a `stop` that clears the
 * timer. While the work runs there is no timer to clear. Another one is a listener of the end of a
 * connection that opens the next: the stop ends the connection, and so starts a new one.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { isMade, isTimer } from '../meaning/lifecycle.ts'
import { targetsOf } from '../summaries/call-order.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Answer } from '../summaries/paths.ts'
import type { Summary } from '../summaries/summary.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { abortWait, closedCheck, removeListener } from './fixes.ts'
import { isCheck } from './host.ts'
import type { Host, Located } from './host.ts'
import { hasStrongReach, overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isOwnVariable } from '../ir/own-variable.ts'
import { isComponentState } from './shared.ts'
import { isTakenBack } from './taken-back.ts'
import { isLook, isWithin } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function restartedAfterStop(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (host.unit.kind === 'constructor' || host.unit.kind === 'module') continue
    for (const { location, accesses } of host.written) {
      if (!isComponentState(location)) continue
      const release = releaseElsewhere(model, location, host.unit)
      if (release === undefined) continue
      const draft = accesses
        .values()
        .map((store) => from(model, host, location, store, release))
        .find((one) => one !== undefined)
      if (draft !== undefined) drafts.push(draft)
    }
    const inner = throughCall(model, host)
    if (inner !== undefined) drafts.push(inner)
  }
  for (const site of model.calls.triggers) {
    const draft = restartOnEnd(model, site)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

// ---- the end of a handle starts the next one

/** What the platform calls the event that a release leads to. */
const ending = /^\s*\(\s*['"`](?:close|end|exit|disconnect|finish)['"`]/

function restartOnEnd(model: Model, site: CallSite): Draft | undefined {
  const { owner, callbacks } = site
  const use = callbacks.find(({ role }) => role === 'event')
  if (use === undefined || owner.host.graph === undefined || !isOfEnd(site)) return undefined
  const location = listenedTo(model, site)
  if (location === undefined) return undefined
  const restart = restartIn(model, use.unit, location)
  if (restart === undefined) return undefined
  const release = releaseElsewhere(model, location, use.unit.host)
  if (release === undefined || removesListeners(release.owner.host)) return undefined
  const stopper = model.summaries(release.owner.host)
  if (looksAtStop(model, restart, stopper) || isAskedBy(stopper, model, use.unit)) return undefined
  return describeRestart(site, use.unit, restart, location, release)
}

export function isOfEnd({ owner, start, end, name }: CallSite): boolean {
  if (/^on(?:close|end|exit|disconnect|finish)$/.test(name)) return true
  const text = owner.file.parsed.text.slice(start, Math.min(end, start + 400))
  const at = text.lastIndexOf(`${name}(`) + name.length
  return (
    ending.test(text.slice(text.indexOf(`${name}(`) + name.length)) || ending.test(text.slice(at))
  )
}

/** The handle of the component to which the listener is added, by its place or by the value stored there. */
export function listenedTo(model: Model, { callee, owner }: CallSite): Location | undefined {
  if (callee.kind !== 'member') return undefined
  const { location, calls, constructed } = callee.receiver
  const isOurs = (one: Location): boolean => isComponentState(one) && model.lifecycles.isHandle(one)
  if (
    location !== undefined &&
    (location.canonical.scope !== 'parameter' || isComponentState(location.canonical))
  )
    return isOurs(location.canonical) ? location.canonical : undefined
  return model
    .hostOf(owner.host)
    .written.find(
      ({ location: one, accesses }) =>
        isOurs(one) &&
        accesses.some(
          ({ access: { op, value } }) =>
            op === 'write' &&
            ((calls !== undefined && value?.calls?.some((site) => calls.includes(site)) === true) ||
              (constructed !== undefined && value?.constructed === constructed)),
        ),
    )?.location
}

/** A function that a listener runs, at once or by a timer, and that stores a new handle without a check. */
function restartIn(model: Model, unit: FunctionUnit, location: Location): CallSite | undefined {
  const inside = unit.file.units.filter((one) => one.host === unit.host && isWithin(one, unit))
  const isLooking = unit.host.graph!.blocks.some(({ events }) =>
    events.some((event) => inside.includes(event.owner) && isLook(event)),
  )
  if (isLooking) return undefined
  const candidates = unit.host === unit ? [unit] : inside
  return candidates
    .flatMap((one) => one.calls)
    .find((site) =>
      [...targetsOf(site), ...site.callbacks.map((use) => use.unit.host)].some((target) => {
        if (target === unit.host && unit.host !== unit && !site.targets.includes(target))
          return false
        const { before, after } = model.summaries(target)
        return before.get(location)?.store !== undefined || after.get(location)?.store !== undefined
      }),
    )
}

export function removesListeners({ calls }: FunctionUnit): boolean {
  return calls.some(({ name }) =>
    /^(?:off|removeListener|removeAllListeners|removeEventListener|unref)$/.test(name),
  )
}

/** The restart checks something that the stop changes. */
function looksAtStop(model: Model, { targets }: CallSite, stopper: Summary): boolean {
  return targets.some((target) => isAskedBy(stopper, model, target))
}

function isAskedBy(stopper: Summary, model: Model, unit: FunctionUnit): boolean {
  const { before } = model.summaries(unit.host)
  return before.effects.some(
    ({ check }, at) => check !== undefined && isChangedBy(stopper, before.locations[at]!),
  )
}

function describeRestart(
  site: CallSite,
  listener: FunctionUnit,
  restart: CallSite,
  location: Location,
  release: CallSite,
): Draft {
  const stopper = release.owner.namedAs
  const { name } = location
  return {
    rule: 'H308',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${stopper} ends ${name}, and the listener in ${site.owner.namedAs} takes that for a failure and opens a new one: \`${textOf(restart, 40)}\``,
    locations: [location],
    check: site,
    act: restart,
    suspensions: [],
    conflict: release,
    steps: [
      { task: 'A', text: `${stopper} gives it back: \`${textOf(release)}\``, at: release },
      { task: 'B', text: 'the listener is called, as for any other end', at: site },
      { task: 'B', text: `opens a new one: \`${textOf(restart)}\``, at: restart },
      { task: 'A', text: `has stopped nothing`, at: release },
    ],
    window: [1, 3],
    evidence: [
      `neither the listener nor \`${textOf(restart, 40)}\` checks whether ${stopper} has run`,
      overlapOf(listener)?.text ?? 'the listener runs at any time',
    ],
    fixes: [closedCheck(name, [2, 3]), removeListener(stopper, [2, 3])],
  }
}

// ---- stored after a suspension

/** A function that is called after the suspension starts a timer which another one clears. */
function throughCall(model: Model, host: Host): Draft | undefined {
  for (const { event: site } of host.linked) {
    if (site.isGuess || isInListener(site.owner, host.unit)) continue
    // What another object does with its own timer is not stopped by the end of this one.
    if (!host.isWriting && site.callee.kind === 'member') continue
    for (const target of targetsOf(site)) {
      if (target === host.unit || target.role !== undefined) continue
      const { locations, effects } = model.summaries(target).before
      for (const [at, { store }] of effects.entries()) {
        const location = locations[at]!
        if (store === undefined || store.distance > 1 || !isTimer(store.access.value)) continue
        if (!isComponentState(location)) continue
        if (effects[at]?.check !== undefined) continue
        const release = releaseElsewhere(model, location, host.unit)
        if (release === undefined || release.owner.host === store.access.owner.host) continue
        if (isOnlyCalledBy(release.owner.host, target)) continue
        if (isAskedBy(model.summaries(release.owner.host), model, target)) continue
        if (!host.isWriting && looksFirst(model, target)) continue
        if (stopsItself(host, release)) continue
        const way = unlookedWay(model, host, site, release)
        if (way === undefined || stopsTheWait(model, host, release)) continue
        if (waitsBefore(model, release) || model.serial.guardOf(host.unit) !== undefined) continue
        return describe(host, location, site, store.access, release, way)
      }
    }
  }
  return undefined
}

/** It decides by itself whether there is something to start. */
function looksFirst(model: Model, unit: FunctionUnit): boolean {
  const { locations, effects } = model.summaries(unit).before
  return effects.some(({ check }, at) => check !== undefined && isComponentState(locations[at]!))
}

/** `await this.stop(); this.start()`: it is the one that stops. */
function stopsItself(host: Host, { owner }: CallSite): boolean {
  return host.linked.some(({ event }) => targetsOf(event).includes(owner.host))
}

/** A function that releases the stored handle, in a region of its own and not on behalf of this one. */
function releaseElsewhere(
  model: Model,
  location: Location,
  unit: FunctionUnit,
): CallSite | undefined {
  return model.lifecycles
    .releasesOf(location)
    .find(
      ({ owner }) =>
        owner.host !== unit &&
        owner.host.graph !== undefined &&
        !isOnlyCalledBy(owner.host, unit) &&
        isStop(model, owner.host) &&
        overlapOf(owner.host) !== undefined,
    )
}

/** Not a helper of the running flow: nothing in the program calls it, or it ends more than this. */
function isStop(model: Model, unit: FunctionUnit): boolean {
  if (unit.callers.length === 0) return true
  if (new Set(model.lifecycles.releasedIn(unit)).size > 1) return true
  const { before } = model.summaries(unit)
  return before.effects.some(
    ({ store }, at) =>
      store?.distance === 0 &&
      store.access.value?.literal === 'true' &&
      model.latches.isLatch(before.locations[at]!),
  )
}

function isOnlyCalledBy({ callers }: FunctionUnit, unit: FunctionUnit): boolean {
  return callers.length > 0 && callers.every((site) => site.owner.host === unit)
}

function from(
  model: Model,
  host: Host,
  location: Location,
  store: Located,
  release: CallSite,
): Draft | undefined {
  const { access } = store
  if (access.op !== 'write' || access.kind !== 'set' || access.isInitial || !isMade(access))
    return undefined
  // A variable that belongs to one run of a callback ends with the handles of that run.
  const outer = isOwnVariable(location, host.unit) ? location.unit! : host.unit
  if (isInListener(access.owner, outer)) return undefined
  const isTiming = isTimer(access.value)
  if (!isTiming && !hasStrongReach(host.unit) && !isEndable(model, host, location, release))
    return undefined
  const way = unlookedWay(model, host, access, release)
  if (way === undefined || stopsTheWait(model, host, release)) return undefined
  if (isHandedOutLater(location, host, release, way)) return undefined
  if (waitsBefore(model, release)) return undefined
  if (model.serial.guardOf(host.unit) !== undefined) return undefined
  return describe(host, location, access, access, release, way)
}

/** The function itself waits before it returns: what ends it is not in other hands by then. */
function isHandedOutLater(
  location: Location,
  { unit }: Host,
  release: CallSite,
  { suspensions }: Answer,
): boolean {
  return (
    isOwnVariable(location, unit) &&
    release.owner.role === undefined &&
    suspensions.every(({ kind, owner }) => kind !== 'continuation' && owner === location.unit)
  )
}

/**
 * The end may come at any time: the function has handed out what ends it, or the end is marked and the
 * component refuses to work after it.
 */
function isEndable(model: Model, host: Host, location: Location, release: CallSite): boolean {
  if (isOwnVariable(location, host.unit)) return true
  const { before } = model.summaries(release.owner.host)
  return before.effects.some(
    ({ store }, at) =>
      store?.distance === 0 &&
      store.access.value?.literal === 'true' &&
      model.latches.isLatch(before.locations[at]!) &&
      // Looked at here before the suspension, it is the flag that H201 is about.
      !host.accessesOf(before.locations[at]!).some(isCheck) &&
      model.readers.of(before.locations[at]!).length > 1,
  )
}

function isInListener(unit: FunctionUnit, host: FunctionUnit): boolean {
  for (let at: FunctionUnit | undefined = unit; at !== undefined && at !== host; at = at.parent)
    if (at.role === 'event') return true
  return false
}

/** A path from the entry over a suspension to the store, without a check after it. */
function unlookedWay(
  model: Model,
  host: Host,
  access: Access | CallSite,
  release: CallSite,
): Answer | undefined {
  const stopper = model.summaries(release.owner.host)
  const changes = model.changesBy(release.owner)
  const isLooking = (event: Event): boolean => {
    if (changes.isCheckedBy(event)) return true
    if (event.op !== 'call') return false
    // A callee that throws when it finds the flag set decides for its caller.
    return event.targets.some((target) => throwsOnCheck(model, target, stopper))
  }
  return ask(
    host.graph,
    { block: host.graph.entry, index: -1 },
    {
      states: 2,
      start: 0,
      step(event, state) {
        if (event === access) return state === 1 ? found : stop
        if (event.op === 'suspend')
          return isWait(event) && !isTakenBack(model, host, event, release.owner) ? 1 : state
        return state === 1 && isLooking(event) ? stop : state
      },
    },
  )
}

/** A timer that has not fired and an event that has not come are not waits of this task. */
function isWait({ kind, joins, owner, start, end }: Suspension): boolean {
  if (kind !== 'continuation') return true
  return joins.length > 0 || /\.\s*then\s*\(/.test(owner.file.parsed.text.slice(start, end))
}

/** The callee throws because of something that the stopping function changes. */
function throwsOnCheck(model: Model, target: FunctionUnit, stopper: Summary): boolean {
  const { effects, locations } = model.summaries(target.host).before
  return effects.some(({ check }, at) => {
    const isThrowing = check?.access.checks.some(
      ({ whenPresent, whenAbsent }) =>
        whenPresent?.isThrowing === true || whenAbsent?.isThrowing === true,
    )
    return isThrowing === true && isChangedBy(stopper, locations[at]!)
  })
}

function isChangedBy({ before, after }: Summary, location: Location): boolean {
  return [before.get(location), after.get(location)].some(
    (effects) => effects?.store?.distance === 0 || effects?.clear?.distance === 0,
  )
}

/** The stopping function aborts something that this task takes part in: the wait itself fails. */
function stopsTheWait(model: Model, host: Host, release: CallSite): boolean {
  return model.lifecycles
    .releasedIn(release.owner)
    .some(
      (location) =>
        location.canonical !== release.receiver?.canonical &&
        model.lifecycles
          .releasesOf(location)
          .some((site) => site.name === 'abort' && site.owner.host === release.owner.host) &&
        host.accessesOf(location.canonical).length > 0,
    )
}

/** It waits before it gives back: for the running task, as far as can be seen. */
function waitsBefore(model: Model, release: CallSite): boolean {
  const { host } = release.owner
  const stopper = model.hostOf(host)
  return (
    ask(
      stopper.graph,
      { block: stopper.graph.entry, index: -1 },
      {
        states: 2,
        start: 0,
        step: (event, state) =>
          event === release ? (state === 0 ? found : stop) : event.op === 'suspend' ? 1 : state,
      },
    ) === undefined
  )
}

function describe(
  host: Host,
  location: Location,
  act: Access | CallSite,
  store: Access,
  release: CallSite,
  way: Answer,
): Draft {
  const suspension = way.suspensions.at(-1)!
  const stopper = release.owner.namedAs
  const { name } = location
  return {
    rule: 'H308',
    class: 'lifetime-mismatch',
    level: hasStrongReach(host.unit) && isTimer(store.value) ? 'error' : 'warning',
    message: `${act.owner.namedAs} waits and then stores ${name} without checking whether ${stopper} has run during the wait: the stored handle is never released`,
    locations: [location],
    check: suspension,
    act,
    suspensions: [suspension],
    conflict: release,
    steps: [
      { task: 'A', text: `waits: \`${textOf(suspension)}\``, at: suspension, isCheckpoint: true },
      {
        task: 'B',
        text: `${stopper} releases the stored value: \`${textOf(release)}\``,
        at: release,
      },
      { task: 'A', text: `resumes and stores a new one: \`${textOf(act)}\``, at: act },
      { task: 'A', text: `it stays: ${stopper} will not run again`, at: act },
    ],
    window: [0, 2],
    evidence: [
      `${stopper} gives back ${name} and can run at any time`,
      overlapOf(host.unit)?.text ?? `${host.unit.namedAs} runs beside it`,
    ],
    fixes: [closedCheck(name, [3, 4]), abortWait(stopper, [1, 3])],
  }
}

export const restartedAfterStopPage: RulePage = {
  id: 'H308',
  name: 'restarted-after-stop',
  class: 'lifetime-mismatch',
  level: 'error',
  summary:
    'A timer or handle is stored after a suspension, although a stop may have come in between.',
  what: `A task is suspended and then stores a timer, a connection or another handle in a field or
variable that some other function releases. Between the suspension and the store nothing is checked,
and that other function neither waits for the task nor aborts its wait.`,
  why: `The stop runs while there is nothing to give back. The task then resumes, stores its handle and
runs for ever: the poller polls a closed database, the process does not exit, the test hangs.`,
  race: source`
    export class Poller {
      #timer: NodeJS.Timeout | undefined

      async poll(): Promise<void> {
        await fetchNews()
        this.#timer = setTimeout(() => this.poll(), 1000)
      }

      stop(): void {
        clearTimeout(this.#timer)
      }
    }
  `,
  steps: [
    ['A', 'poll(): await fetchNews(), suspended'],
    ['B', 'stop(): clears the timer that has fired already'],
    ['A', 'resumes and starts the next timer'],
    ['A', 'polls for ever'],
  ],
  window: [1, 3],
  fixed: source`
    export class Poller {
      #timer: NodeJS.Timeout | undefined
      #isStopped = false

      async poll(): Promise<void> {
        await fetchNews()
        if (this.#isStopped) return
        this.#timer = setTimeout(() => this.poll(), 1000)
      }

      stop(): void {
        this.#isStopped = true
        clearTimeout(this.#timer)
      }
    }
  `,
  fixes: [
    'Set a flag in the function that stops, and check it after every suspension before something is stored.',
    'Give the wait a signal which the stopping function aborts.',
    'Let the stopping function wait for the running task before it gives back.',
  ],
}
