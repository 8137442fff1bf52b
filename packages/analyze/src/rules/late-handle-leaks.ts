/**
 * H314 late handle leaks: a promise is rejected by a timer, and the operation that it was to limit comes to
 * its end later and resolves the promise with a handle. The promise is settled already: nobody gets the
 * handle, and nobody gives it back.
 */
import type { Binding } from '../ir/scope.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { unlookedWay } from './called-back-twice.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { cancelLoser, closeLoser } from './fixes.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { isExecutor, isWithin } from './walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function lateHandleLeaks(model: Model): Draft[] {
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
  const rejection = unit.calls.find((call) => settledBy(call)?.isRejection === true)
  if (rejection === undefined) return undefined
  // The timer ends the operation itself.
  if (unit.calls.some((call) => model.lifecycles.isRelease(call))) return undefined
  const { executor } = settledBy(rejection)!
  const maker = executor.parent
  if (maker === undefined || !makesHandles(model, maker)) return undefined
  for (const other of host.calls) {
    const settled = settledBy(other.event)
    if (settled?.executor !== executor || settled.isRejection) continue
    if (isWithin(other.event.owner, unit) || !isAnswer(other.event)) continue
    const way = unlookedWay(host, timer, other)
    if (way !== undefined)
      return describe(maker, timer, rejection, other.event, way.suspensions.at(-1)!)
  }
  return undefined
}

interface Settled {
  readonly executor: FunctionUnit
  readonly isRejection: boolean
}

/** `resolve(…)` or `reject(…)` of the executor around it, whatever they are called. */
function settledBy({ callee, isNew }: CallSite): Settled | undefined {
  if (callee.kind !== 'name' || callee.path.length > 0 || isNew) return undefined
  const binding: Binding | undefined = callee.scope.find(callee.name)
  if (binding?.kind !== 'param' || !isExecutor(binding.unit)) return undefined
  return { executor: binding.unit, isRejection: binding.unit.params[1] === callee.name }
}

/** It is resolved with what the operation has answered. */
function isAnswer({ args }: CallSite): boolean {
  const [value] = args
  return value !== undefined && value.literal === undefined && value.fresh === undefined
}

/** The program gives back what the function answers, where it is called. */
function makesHandles(model: Model, maker: FunctionUnit): boolean {
  return maker.callers.some((site) => model.lifecycles.makesHandle(site))
}

function describe(
  maker: FunctionUnit,
  timer: CallSite,
  rejection: CallSite,
  late: CallSite,
  wait: Draft['suspensions'][number],
): Draft {
  const { namedAs } = maker
  return {
    rule: 'H314',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${namedAs} gives up after a time, and the handle that arrives later is given to a promise that is settled: nothing closes it`,
    locations: [],
    check: timer,
    act: late,
    suspensions: [wait],
    conflict: rejection,
    steps: [
      {
        task: 'A',
        text: `starts the operation and waits: \`${textOf(wait)}\``,
        at: wait,
        isCheckpoint: true,
      },
      { task: 'B', text: `the timer gives up: \`${textOf(rejection)}\``, at: rejection },
      { task: 'A', text: `the handle arrives: \`${textOf(late)}\` does nothing`, at: late },
    ],
    window: [0, 2],
    evidence: [
      `callers of ${namedAs} give back what it answers`,
      overlapOf(maker.host)?.text ?? `${namedAs} can be called`,
    ],
    fixes: [closeLoser(namedAs, [3, 3]), cancelLoser(namedAs, [2, 3])],
  }
}

export const lateHandleLeaksPage: RulePage = {
  id: 'H314',
  name: 'late-handle-leaks',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'A handle that arrives after the time limit is given to a promise that is settled.',
  what: `A function answers with a promise, which a timer rejects. The operation goes on all the same, and
when it ends it resolves the same promise with a handle that callers have to give back.`,
  why: `A promise is settled once: the second time does nothing. The connection or file is open, and no
variable leads to it. Every time limit that is exceeded leaves one more.`,
  race: source`
    export function open(port: number): Promise<Connection> {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('too late')), 1000)
        dial(port, (error: Error | null, connection: Connection) => {
          clearTimeout(timer)
          if (error) return reject(error)
          resolve(connection)
        })
      })
    }

    export async function ask(port: number): Promise<string> {
      const connection = await open(port)
      try {
        return await connection.read()
      } finally {
        connection.close()
      }
    }
  `,
  steps: [
    ['A', 'dial() is on its way'],
    ['B', 'the timer: reject(), ask() fails'],
    ['A', 'the connection arrives: resolve() does nothing, it stays open'],
  ],
  window: [1, 3],
  fixed: source`
    export function open(port: number): Promise<Connection> {
      return new Promise((resolve, reject) => {
        let isLate = false
        const timer = setTimeout(() => {
          isLate = true
          reject(new Error('too late'))
        }, 1000)
        dial(port, (error: Error | null, connection: Connection) => {
          clearTimeout(timer)
          if (error) return reject(error)
          if (isLate) return connection.close()
          resolve(connection)
        })
      })
    }

    export async function ask(port: number): Promise<string> {
      const connection = await open(port)
      try {
        return await connection.read()
      } finally {
        connection.close()
      }
    }
  `,
  fixes: [
    'Note that the time is over, and give back what arrives later.',
    'Hand a signal to the operation, and abort it when the time is over.',
  ],
}
