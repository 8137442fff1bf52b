/**
 * H507 announced early: an event is emitted, and only then the state is set that the event is about.
 * Listeners run now, before `emit` returns: functions they call still find the old state.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import { isCopy, ownerIn } from '../ir/splice.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { announceLast, deferEvent } from './fixes.ts'
import type { At, Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { baseOf } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function announcedEarly(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hostsOf(model.calls.named('emit'))) {
    if (host.unit.kind === 'constructor') continue
    for (const call of host.calls) {
      const draft = isEmit(call.event) ? from(model, host, call) : undefined
      if (draft === undefined) continue
      drafts.push(draft)
      break
    }
  }
  return drafts
}

/** The component emits an event of its own. */
function isEmit({ name, callee, callbacks }: CallSite): boolean {
  return name === 'emit' && callee.kind === 'method' && callbacks.length === 0
}

function from(model: Model, host: Host, emit: At<CallSite>): Draft | undefined {
  const owner = emit.event.callee.kind === 'method' ? emit.event.callee.class : undefined
  const answer = ask(host.graph, emit, {
    states: 1,
    start: 0,
    step(event) {
      if (event.op === 'suspend') return stop
      if (event.op !== 'write' || ownerIn(event) !== ownerIn(emit.event)) return 0
      return isStateOf(event, owner) && isUnset(model, host, event) ? found : 0
    },
  })
  const write = answer?.event as Access | undefined
  if (write === undefined) return undefined
  const reader = askedIn(model, write.location.canonical, host)
  return reader && describe(host, emit.event, write, reader)
}

/** A flag is raised, or a named state is entered. */
function isStateOf({ location, kind, value, isInitial }: Access, owner: unknown): boolean {
  return (
    kind === 'set' &&
    !isInitial &&
    (value?.literal === 'true' || value?.literal === 'string') &&
    isComponentState(location.canonical) &&
    baseOf(location.canonical) === owner
  )
}

/** Nothing before the event sets it in the same function. */
function isUnset(model: Model, host: Host, write: Access): boolean {
  const { canonical } = write.location
  return (
    host.accessesOf(canonical).filter(({ access }) => access.op === 'write' && access !== write)
      .length === 0 &&
    !host.linked.some(({ event }) =>
      event.targets.some(
        (target) => model.summaries(target).before.get(canonical)?.store !== undefined,
      ),
    )
  )
}

/** A method that callers of the component use, and that waits for the event when the flag is not set. */
function askedIn(model: Model, location: Location, host: Host): Access | undefined {
  for (const unit of model.summaries.uses.hostsOf(location)) {
    if (unit === host.unit || unit.graph === undefined || overlapOf(unit) === undefined) continue
    const other = model.hostOf(unit)
    const check = other
      .accessesOf(location)
      .find(({ access }) => access.op === 'read' && access.checks.length > 0)
    // The callee is checked by itself.
    if (check === undefined || check.access.isInitial || isCopy(check.access)) continue
    const isWaiting = other.calls.some(
      ({ event }) => (event.name === 'once' || event.name === 'on') && !isCopy(event),
    )
    const isRefusing = check.access.checks.some(
      ({ whenAbsent, whenPresent }) =>
        whenAbsent?.isThrowing === true || whenPresent?.isThrowing === true,
    )
    if (isWaiting || isRefusing) return check.access
  }
  return undefined
}

function describe(host: Host, emit: CallSite, write: Access, reader: Access): Draft {
  const { name } = write.location.canonical
  const asking = reader.owner.namedAs
  return {
    rule: 'H507',
    class: 'atomicity-gap',
    level: 'warning',
    message: `${host.unit.namedAs} announces with \`${textOf(emit, 40)}\` and sets ${name} only afterwards: a listener that calls ${asking} finds the old state`,
    locations: [write.location.canonical],
    check: emit,
    act: write,
    suspensions: [],
    conflict: reader,
    steps: [
      { task: 'A', text: `listeners run now: \`${textOf(emit)}\``, at: emit },
      { task: 'B', text: `a listener calls ${asking}: \`${textOf(reader)}\``, at: reader },
      { task: 'A', text: `sets the announced state: \`${textOf(write)}\``, at: write },
    ],
    window: [0, 2],
    evidence: [
      `${asking} waits or refuses when ${name} is not set`,
      overlapOf(reader.owner)?.text ?? `${asking} can be called by a listener`,
    ],
    fixes: [announceLast(name, [1, 3]), deferEvent([1, 3])],
  }
}

export const announcedEarlyPage: RulePage = {
  id: 'H507',
  name: 'announced-early',
  class: 'atomicity-gap',
  level: 'warning',
  summary: 'An event is emitted before the state is set that it is about.',
  what: `A method emits an event of its own object and then, without a suspension, raises a flag or enters
a named state. Another method checks that state and waits for the event, or throws, when it is not set.`,
  why: `\`emit\` calls the listeners at once. A listener of "ready" that sends something finds the object not
ready: the call throws, or waits for an event that has just been emitted and does not come again.`,
  race: source`
    import { EventEmitter, once } from 'node:events'

    export class Shard extends EventEmitter {
      #isReady = false

      onHello(): void {
        this.emit('ready')
        this.#isReady = true
      }

      async send(text: string): Promise<void> {
        if (!this.#isReady) await new Promise((resolve) => this.once('ready', resolve))
        write(text)
      }
    }
  `,
  steps: [
    ['A', "emit('ready') calls the listeners"],
    ['B', 'a listener calls send(): not ready, so it waits for the event'],
    ['A', '#isReady = true'],
    ['B', "waits for ever: 'ready' has been emitted"],
  ],
  window: [1, 4],
  fixed: source`
    import { EventEmitter, once } from 'node:events'

    export class Shard extends EventEmitter {
      #isReady = false

      onHello(): void {
        this.#isReady = true
        this.emit('ready')
      }

      async send(text: string): Promise<void> {
        if (!this.#isReady) await new Promise((resolve) => this.once('ready', resolve))
        write(text)
      }
    }
  `,
  fixes: [
    'Set the state first and emit last.',
    'Emit in a microtask, when the function is through.',
  ],
}
