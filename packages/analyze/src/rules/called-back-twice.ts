/**
 * H208 called back twice: a timer gives up and calls back, and the operation that it was to limit calls
 * back as well when it comes to its end, without looking whether the timer was first.
 *
 * Clearing the timer at the end helps only when the end comes first. A promise is settled once however
 * often it is tried, so `resolve` and `reject` are not meant here.
 */
import type { Binding } from '../ir/scope.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Answer } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { callOnce, recheck } from './fixes.ts'
import type { At, Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isExecutor, isLook, isWithin } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function calledBackTwice(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const timer of model.calls.triggers) {
    for (const { unit, role } of timer.callbacks) {
      if (role !== 'timer' || unit.host.graph === undefined) continue
      const draft = from(model, timer, unit)
      if (draft !== undefined) drafts.push(draft)
    }
  }
  return drafts
}

function from(model: Model, timer: CallSite, unit: FunctionUnit): Draft | undefined {
  const host = model.hostOf(unit.host)
  const late = host.calls.find(
    ({ event }) => event.owner === unit && callbackOf(event) !== undefined,
  )
  if (late === undefined || isLooking(host, unit)) return undefined
  const callback = callbackOf(late.event)!
  if (callback.unit === unit) return undefined
  for (const other of host.calls) {
    if (isWithin(other.event.owner, unit) || callbackOf(other.event) !== callback) continue
    if (isRemovedBy(host, unit, other.event.owner)) continue
    const way = unlookedWay(host, timer, other)
    if (way !== undefined) return describe(host, timer, late.event, other.event, way)
  }
  return undefined
}

/** The parameter that is called: `done(…)`. A wrapped one has been assigned again. */
export function callbackOf({ callee, isNew }: CallSite): Binding | undefined {
  if (callee.kind !== 'name' || callee.path.length > 0 || isNew) return undefined
  const binding = callee.scope.find(callee.name)
  if (binding?.kind !== 'param' || binding.assignments > 0) return undefined
  return isExecutor(binding.unit) ? undefined : binding
}

/** The timer itself looks whether the operation has ended. */
function isLooking({ graph }: Host, unit: FunctionUnit): boolean {
  return graph.blocks.some(({ events }) =>
    events.some((event) => isLook(event) && event.owner === unit),
  )
}

/** The timer takes the other caller out of where it is kept, so that it is not called any more. */
function isRemovedBy(host: Host, timer: FunctionUnit, other: FunctionUnit): boolean {
  return host.written.some(
    ({ accesses }) =>
      accesses.some(({ access }) => access.kind === 'drop' && access.owner === timer) &&
      accesses.some(
        ({ access }) =>
          access.kind === 'fill' && access.start <= other.start && other.end <= access.end,
      ),
  )
}

/** From the start of the timer, over a suspension, to the call, without a check on the path. */
function unlookedWay(host: Host, timer: CallSite, other: At<CallSite>): Answer | undefined {
  const start = host.calls.find(({ event }) => event === timer)
  if (start === undefined) return undefined
  return ask(host.graph, start, {
    states: 2,
    start: 0,
    step(event, state) {
      if (event === other.event) return state === 1 ? found : stop
      if (event.op === 'suspend')
        return event.start >= timer.start && event.end <= timer.end ? stop : 1
      if (event.op === 'read' && state === 1 && isLook(event)) return stop
      return state
    },
  })
}

function describe(
  host: Host,
  timer: CallSite,
  late: CallSite,
  other: CallSite,
  way: Answer,
): Draft {
  const suspension = way.suspensions.at(-1)!
  const { name } = late
  return {
    rule: 'H208',
    class: 'stale-reference',
    level: 'warning',
    message: `${host.unit.namedAs} calls ${name} when its timer fires and again when the operation ends: the caller is called back twice, and nothing takes care of the late answer`,
    locations: [],
    check: timer,
    act: other,
    suspensions: [suspension],
    conflict: late,
    steps: [
      {
        task: 'A',
        text: `starts the operation and waits: \`${textOf(suspension)}\``,
        at: suspension,
        isCheckpoint: true,
      },
      { task: 'B', text: `the timer fires: \`${textOf(late)}\``, at: late },
      { task: 'A', text: `the operation ends all the same: \`${textOf(other)}\``, at: other },
    ],
    window: [0, 2],
    evidence: [
      `nothing is checked between \`${textOf(suspension)}\` and \`${textOf(other)}\``,
      overlapOf(host.unit)?.text ?? `${host.unit.namedAs} can be called`,
    ],
    fixes: [callOnce(name, [2, 3]), recheck('whether the timer has fired', [3, 3])],
  }
}

export const calledBackTwicePage: RulePage = {
  id: 'H208',
  name: 'called-back-twice',
  class: 'stale-reference',
  level: 'warning',
  summary: 'A timer and the operation that it limits both call the same callback.',
  what: `A function starts a timer that calls its callback, usually with an error, and an operation whose
end calls the same callback. Neither of them checks whether the other one was first. Clearing the timer
when the operation ends covers one of the two orders only.`,
  why: `When the timer is first, the caller has given up and gone on. Then it is called a second time: it
answers a request twice, counts an error and a success, or releases something twice. What the operation
has made, a connection for example, belongs to nobody and stays open.`,
  race: source`
    export function open(port: number, done: (error: Error | null, socket?: Socket) => void) {
      const timer = setTimeout(() => done(new Error('too late')), 1000)
      dial(port, (error, socket) => {
        clearTimeout(timer)
        done(error, socket)
      })
    }
  `,
  steps: [
    ['A', 'dial() is on its way'],
    ['B', 'the timer fires: done(new Error(…))'],
    ['A', 'dial() is through: done(null, socket), the second call'],
    ['A', 'nothing closes the socket'],
  ],
  window: [1, 3],
  fixed: source`
    export function open(port: number, done: (error: Error | null, socket?: Socket) => void) {
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        done(new Error('too late'))
      }, 1000)
      dial(port, (error, socket) => {
        if (isLate) return socket?.end()
        clearTimeout(timer)
        done(error, socket)
      })
    }
  `,
  fixes: [
    'Record that the timer has fired, check that when the operation ends, and release what arrives too late.',
    'Wrap the callback so that only its first call counts.',
  ],
}
