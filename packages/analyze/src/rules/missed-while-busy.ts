/**
 * H510 missed while busy: a function with an in-flight flag works on a queue, waits once more after its
 * last look at the queue, and then clears the flag and ends. What is added during that wait is not
 * worked on: who added it has called the function, and the flag has sent it away.
 */
import type { Access, Block, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import { targetsOf } from '../summaries/order.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { lookAgain, whileNotEmpty } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { perLocation } from './per-location.ts'
import { isComponentState } from './shared.ts'
import { isPartOf, isWithin } from './walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function missedWhileBusy(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    ({ location }, { unit }) =>
      isComponentState(location) &&
      unit.kind !== 'constructor' &&
      // A timer comes again and finds what was left.
      !unit.reach.has('timer'),
    (host, location, accesses) =>
      accesses.some(({ access }) => isTaking(access))
        ? from(model, host, location, accesses)
        : undefined,
  )
}

function isTaking({ op, kind, value, isInitial }: Access): boolean {
  return op === 'write' && !isInitial && kind === 'set' && value?.literal === 'true'
}

function isGivingBack({ op, kind, value }: Access): boolean {
  return op === 'write' && kind === 'null' && value?.literal === 'false'
}

function from(
  model: Model,
  host: Host,
  flag: Location,
  accesses: readonly Located[],
): Draft | undefined {
  for (const { location: queue, accesses: uses } of host.written) {
    if (
      queue === flag ||
      !isComponentState(queue) ||
      !uses.some(({ access }) => isTakenOut(access))
    )
      continue
    const adder = adderOf(model, host, queue, flag, accesses)
    if (adder === undefined) continue
    for (const clear of accesses) {
      if (!isGivingBack(clear.access)) continue
      const wait = lastWait(model, host, queue, clear)
      if (wait === undefined || !endsUnseen(model, host, queue, clear)) continue
      const taken = uses.find(({ access }) => isTakenOut(access))!.access
      return describe(host, flag, queue, taken, clear.access, wait, adder)
    }
  }
  return undefined
}

/** One element, or all of them. */
function isTakenOut({ op, kind, isInitial }: Access): boolean {
  return op === 'write' && !isInitial && (kind === 'drop' || kind === 'reset')
}

interface Adder {
  readonly append: Access
  readonly unit: FunctionUnit
}

/** Another function that adds to the queue and then calls this one, which the flag sends away. */
function adderOf(
  model: Model,
  host: Host,
  queue: Location,
  flag: Location,
  accesses: readonly Located[],
): Adder | undefined {
  const isAskedHere = accesses.some(
    ({ access }) => access.op === 'read' && access.checks.length > 0,
  )
  for (const unit of model.summaries.uses.hostsOf(queue)) {
    if (unit === host.unit || isWithin(unit, host.unit) || overlapOf(unit) === undefined) continue
    const other = model.hostOf(unit)
    const append = other.groups
      .filter(({ location }) => isPartOf(location, queue))
      .flatMap((group) => group.accesses)
      .find(({ access }) => access.kind === 'append' && !access.isInitial)
    if (append === undefined) continue
    const isAskedThere = other
      .accessesOf(flag)
      .some(({ access }) => access.op === 'read' && access.checks.length > 0)
    if (!isAskedHere && !isAskedThere) continue
    if (other.linked.some(({ event }) => targetsOf(event).includes(host.unit)))
      return { append: append.access, unit }
  }
  return undefined
}

/** Anything that has to do with the queue, here or in a function that is called. */
function touches(model: Model, event: Event, queue: Location, host: FunctionUnit): boolean {
  if (event.op === 'read' || event.op === 'write') return isPartOf(event.location.canonical, queue)
  if (event.op !== 'call') return false
  return targetsOf(event).some((target) => {
    if (target === host) return true
    const { before, after } = model.summaries(target)
    return (
      before.locations.some((one) => isPartOf(one, queue)) ||
      after.locations.some((one) => isPartOf(one, queue))
    )
  })
}

/** A failure that leaves the way of the others. */
function isFailing(at: Block, to: Block): boolean {
  return to.cleanup > 0 && at.cleanup === 0 && at.next.some(({ cleanup }) => cleanup === 0)
}

/** A suspension from which the flag is cleared without a look at the queue, other than by a failure. */
function lastWait(model: Model, host: Host, queue: Location, clear: Located) {
  for (const wait of host.suspensions) {
    if (!isWithin(clear.access.owner, wait.event.owner)) continue
    const way = ask(host.graph, wait, {
      states: 1,
      start: 0,
      step: (event) =>
        event === clear.access
          ? found
          : event.op === 'suspend' || touches(model, event, queue, host.unit)
            ? stop
            : 0,
      cross: (at, to) => (isFailing(at, to) ? stop : 0),
    })
    if (way !== undefined) return wait.event
  }
  return undefined
}

/** From the clearing to the end nothing looks at the queue any more. */
function endsUnseen(model: Model, host: Host, queue: Location, clear: Located): boolean {
  const isSeen = ask(host.graph, clear, {
    states: 1,
    start: 0,
    step: (event) => (touches(model, event, queue, host.unit) ? found : 0),
    cross: (at, to) => (isFailing(at, to) ? stop : 0),
  })
  return isSeen === undefined
}

function describe(
  host: Host,
  flag: Location,
  queue: Location,
  taken: Access,
  clear: Access,
  wait: Draft['suspensions'][number],
  { append, unit }: Adder,
): Draft {
  const { namedAs } = host.unit
  return {
    rule: 'H510',
    class: 'atomicity-gap',
    level: 'warning',
    message: `${namedAs} waits after its last look at ${queue.name} and then clears ${flag.name}: what ${unit.namedAs} adds during the wait is left there`,
    locations: [queue, flag],
    check: taken,
    act: clear,
    suspensions: [wait],
    conflict: append,
    steps: [
      { task: 'A', text: `takes what is in ${queue.name}: \`${textOf(taken)}\``, at: taken },
      { task: 'A', text: `waits: \`${textOf(wait)}\``, at: wait, isCheckpoint: true },
      {
        task: 'B',
        text: `${unit.namedAs} adds one, and ${flag.name} says that it is being worked on: \`${textOf(append)}\``,
        at: append,
      },
      { task: 'A', text: `ends without another look: \`${textOf(clear)}\``, at: clear },
    ],
    window: [0, 3],
    evidence: [
      `${unit.namedAs} adds to ${queue.name} and relies on ${namedAs}`,
      overlapOf(unit)?.text ?? `${unit.namedAs} can be called`,
    ],
    fixes: [lookAgain(queue.name, namedAs, [3, 4]), whileNotEmpty(queue.name, [2, 4])],
  }
}

export const missedWhileBusyPage: RulePage = {
  id: 'H510',
  name: 'missed-while-busy',
  class: 'atomicity-gap',
  level: 'warning',
  summary: 'What is added to a queue during the last wait of its worker is left there.',
  what: `A function works on a shared queue and keeps a second run of itself out by a flag. After its last
look at the queue it waits once more, and then clears the flag and ends. Another function adds to the queue
and calls the worker, which the flag sends away.`,
  why: `What is added during that wait stays in the queue until something else is added: the last event of
a burst is not sent, and its caller waits. It is a lost wake-up.`,
  race: source`
    export class Sender {
      #queue: string[] = []
      #isSending = false

      add(line: string): void {
        this.#queue.push(line)
        if (!this.#isSending) void this.#send()
      }

      async #send(): Promise<void> {
        this.#isSending = true
        const batch = this.#queue
        this.#queue = []
        await post(batch)
        this.#isSending = false
      }
    }
  `,
  steps: [
    ['A', '#send(): takes the batch and posts it, suspended'],
    ['B', 'add(): one more line, and #isSending is true'],
    ['A', '#isSending is false: nobody sends the line'],
  ],
  window: [1, 3],
  fixed: source`
    export class Sender {
      #queue: string[] = []
      #isSending = false

      add(line: string): void {
        this.#queue.push(line)
        if (!this.#isSending) void this.#send()
      }

      async #send(): Promise<void> {
        this.#isSending = true
        while (this.#queue.length > 0) {
          const batch = this.#queue
          this.#queue = []
          await post(batch)
        }
        this.#isSending = false
      }
    }
  `,
  fixes: [
    'Look at the queue in the region that clears the flag, and begin again when something is there.',
    'Loop until the queue is empty, with nothing to wait for after the loop.',
  ],
}
