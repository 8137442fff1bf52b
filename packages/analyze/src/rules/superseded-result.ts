/**
 * H205 superseded result: a task stores its question (a key, an address, options), waits for the
 * answer, and stores the answer without checking whether the question is still the same. If a newer
 * task has stored another question in between, its answer is replaced by that of the older one.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { isOwnVariable } from '../ir/own-variable.ts'
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import { ownerIn } from '../ir/splice.ts'
import type { Value } from '../ir/values.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Answer } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { generation, identityCheck, mutex } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState, isParameterOf } from './shared.ts'
import { baseOf, isIdentityCheck, isWithin, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function supersededResult(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!host.isWriting || host.unit.kind === 'constructor') continue
    if (overlapOf(host.unit) === undefined) continue
    const draft = inHost(model, host)
    if (draft !== undefined) drafts.push(draft)
  }
  const answers = new AnswersOfListeners(model)
  for (const site of model.calls.triggers) {
    const draft = inListener(model, site, answers)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

/**
 * A listener asks for something at every event and stores the answer in one place: when events come close
 * together, the answer to the older one may come last.
 */
function inListener(model: Model, site: CallSite, answers: AnswersOfListeners): Draft | undefined {
  const listener = listenerOf(site)
  if (listener === undefined || site.name === 'once' || listener.host.graph === undefined)
    return undefined
  const host = model.hostOf(listener.host)
  const stores = new Map(answers.of(listener).map((stored) => [stored.access as Event, stored]))
  while (stores.size > 0) {
    const way = unlookedWay(model, host, listener, site, stores)
    const stored = way?.event && stores.get(way.event)
    const suspension = way?.suspensions.at(-1)
    if (way === undefined || stored === undefined || suspension === undefined) return undefined
    const end = { block: way.block, event: stored.access }
    if (model.guardOver(host.unit, suspension, stored, end) === undefined)
      return describeListener(model, site, stored.access, suspension)
    stores.delete(stored.access)
  }
  return undefined
}

function listenerOf({ callbacks }: CallSite): FunctionUnit | undefined {
  return callbacks.find(({ role }) => role === 'event')?.unit
}

/** Where listeners store answers: every store of a host is checked once, not once for each listener. */
class AnswersOfListeners {
  readonly #model: Model
  readonly #sorted = new Set<FunctionUnit>()
  readonly #byListener = new Map<FunctionUnit, Located[]>()

  constructor(model: Model) {
    this.#model = model
    for (const site of model.calls.triggers) {
      const listener = listenerOf(site)
      if (listener !== undefined) this.#byListener.set(listener, [])
    }
  }

  /** The accesses in the listener, or in a function that is written inside it. */
  of(listener: FunctionUnit): readonly Located[] {
    if (!this.#sorted.has(listener.host)) this.#sort(this.#model.hostOf(listener.host))
    return this.#byListener.get(listener) ?? []
  }

  #sort(host: Host): void {
    this.#sorted.add(host.unit)
    for (const { location, accesses } of host.written) {
      if (!isComponentState(location)) continue
      for (const stored of accesses) {
        const { kind, value, owner } = stored.access
        if (kind !== 'set' || !isAnswer(value)) continue
        for (let at: FunctionUnit | undefined = owner; at !== undefined; at = at.parent)
          this.#byListener.get(at)?.push(stored)
      }
    }
  }
}

/** From the listener over a suspension of its own to one of the stores, without a check after it. */
function unlookedWay(
  model: Model,
  host: Host,
  listener: FunctionUnit,
  site: CallSite,
  stores: ReadonlyMap<Event, Located>,
): Answer | undefined {
  const changes = model.changesBy(host.unit)
  const begin = host.beginOf(listener, site) ?? { block: host.graph.entry, index: -1 }
  return ask(host.graph, begin, {
    states: 2,
    start: 0,
    step(event, state) {
      // Other listeners are skipped: without this, each walks through all of them.
      if (!isWithin(ownerIn(event), listener)) return stop
      if (stores.has(event)) return state === 1 ? found : stop
      if (event.op === 'suspend') return event.joins.length > 0 ? 1 : state
      return state === 1 && (isIdentityCheck(event) || changes.isCheckedBy(event)) ? stop : state
    },
  })
}

function describeListener(
  model: Model,
  site: CallSite,
  stored: Access,
  suspension: Suspension,
): Draft {
  const { name } = stored.location.canonical
  const listener = stored.owner.namedAs
  return {
    rule: 'H205',
    class: 'stale-reference',
    level: model.readers.of(stored.location.canonical).length > 1 ? 'warning' : 'note',
    message: `a listener in ${listener} waits at every event and then stores ${name}: the answer of an older event replaces that of a newer one`,
    locations: [stored.location.canonical],
    check: suspension,
    act: stored,
    suspensions: [suspension],
    conflict: stored,
    steps: [
      {
        task: 'A',
        text: `an event: asks and waits, \`${textOf(suspension)}\``,
        at: suspension,
        isCheckpoint: true,
      },
      { task: 'B', text: 'the next event: asks as well', at: site, isCheckpoint: true },
      { task: 'B', text: `its answer is there first: \`${textOf(stored)}\``, at: stored },
      { task: 'A', text: `stores its own over it: \`${textOf(stored)}\``, at: stored },
    ],
    window: [0, 3],
    evidence: [
      `\`${textOf(site, 40)}\` runs it at every event, whether or not the last one has ended`,
      `nothing is checked between the suspension and the store of ${name}`,
    ],
    fixes: [generation(name, [4, 4]), mutex(name, [1, 4])],
  }
}

/** The rule gives up after this many guarded answers, because each one costs a walk. */
const mostGuarded = 8

function inHost(model: Model, host: Host): Draft | undefined {
  const answers = answersIn(host)
  if (answers.size === 0) return undefined
  for (const question of host.written) {
    if (!isComponentState(question.location) || isOwnVariable(question.location, host.unit))
      continue
    const asked = question.accesses.find(({ access }) => isFromCaller(access, host))
    const beside = asked && answers.get(baseOf(question.location))
    if (asked === undefined || beside === undefined) continue
    const draft = from(model, host, asked, beside)
    if (draft !== undefined) return draft
  }
  return undefined
}

/** Where answers are stored, by the component that they belong to. */
function answersIn({ written }: Host): ReadonlyMap<unknown, ReadonlySet<Event>> {
  const answers = new Map<unknown, Set<Event>>()
  for (const { location, accesses } of written) {
    if (!isComponentState(location)) continue
    for (const { access } of accesses) {
      if (access.kind !== 'set' || !isAnswer(access.value)) continue
      const beside = answers.get(baseOf(location))
      if (beside === undefined) answers.set(baseOf(location), new Set([access]))
      else beside.add(access)
    }
  }
  return answers
}

/** The stored value is an unchanged argument of the function. */
function isFromCaller(access: Access, host: Host): boolean {
  const { op, kind, isInitial, value, owner, end } = access
  if (op !== 'write' || kind !== 'set' || isInitial || ownerIn(access) !== host.unit) return false
  if (owner !== host.unit) return isParameterOf(value, host.unit)
  if (value === undefined || value.literal !== undefined || (value.calls?.length ?? 0) > 0)
    return false
  const text = owner.file.parsed.text.slice(end, end + 80)
  const given = /^\s*=\s*([\w$]+)\s*[;\n]/.exec(text)?.[1]
  return given !== undefined && host.unit.params.includes(given)
}

/** The answer of something that was waited for. */
function isAnswer(value: Value | undefined): boolean {
  return (
    value !== undefined &&
    value.literal === undefined &&
    value.isAwaited === true &&
    ((value.calls?.length ?? 0) > 0 || (value.from?.length ?? 0) > 0)
  )
}

/** One walk from the question to the nearest answer that is stored beside it. */
function from(
  model: Model,
  host: Host,
  asked: Located,
  answers: ReadonlySet<Event>,
): Draft | undefined {
  const changes = model.changesBy(host.unit)
  const question = asked.access.location.canonical
  const guarded = new Set<Event>()
  while (guarded.size < mostGuarded) {
    const way = overSuspension(
      host.graph,
      asked,
      (event) => answers.has(event) && !guarded.has(event) && !isAt(event, question),
      (event, isAfter) => isAfter && (isIdentityCheck(event) || changes.isCheckedBy(event)),
    )
    const stored = way?.event as Access | undefined
    if (way === undefined || stored === undefined) return undefined
    const end = { block: way.block, event: stored }
    if (model.guardOver(host.unit, way.suspensions[0], asked, end) === undefined)
      return describe(host, asked.access, stored, way.suspensions)
    guarded.add(stored)
  }
  return undefined
}

function isAt(event: Event, location: Location): boolean {
  return event.op === 'write' && event.location.canonical === location
}

function describe(
  host: Host,
  asked: Access,
  stored: Access,
  suspensions: Draft['suspensions'],
): Draft {
  const question = asked.location.canonical
  const answer = stored.location.canonical
  const overlap = overlapOf(host.unit)
  return {
    rule: 'H205',
    class: 'stale-reference',
    level: 'warning',
    message: `${host.unit.namedAs} stores ${question.name}, waits, and stores ${answer.name} without looking whether ${question.name} is still its own: the answer of an older call replaces that of a newer one`,
    locations: [question, answer],
    check: asked,
    act: stored,
    suspensions,
    conflict: asked,
    steps: [
      { task: 'A', text: `stores its question: \`${textOf(asked)}\``, at: asked },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `stores a newer question: \`${textOf(asked)}\``, at: asked },
      { task: 'B', text: `its answer is there first: \`${textOf(stored)}\``, at: stored },
      { task: 'A', text: `stores its own over it: \`${textOf(stored)}\``, at: stored },
    ],
    window: [1, 4],
    evidence: [
      overlap === undefined ? 'it may run twice' : `may overlap with itself: ${overlap.text}`,
      `${question.name} and ${answer.name} belong together and are stored on two sides of a suspension`,
    ],
    fixes: [generation(answer.name, [5, 5]), identityCheck(question.name, [5, 5])],
  }
}

export const supersededResultPage: RulePage = {
  id: 'H205',
  name: 'superseded-result',
  class: 'stale-reference',
  level: 'warning',
  summary: 'The answer to an older question is stored over that to a newer one.',
  what: `A function stores one of its arguments in a field, waits, and stores the answer in another field of
the same object. Nothing is checked between the suspension and the second store, and no guard is held.`,
  why: `Answers do not come in the order of the questions. The field with the question has the user's
last choice, the field with the answer belongs to an earlier question, and it stays so.`,
  race: source`
    export class View {
      #id = ''
      #data: unknown

      async show(id: string): Promise<void> {
        this.#id = id
        const data = await load(id)
        this.#data = data
      }

      get title(): string {
        return this.#id + String(this.#data)
      }
    }
  `,
  steps: [
    ['A', 'show(1): stores 1, suspended'],
    ['B', 'show(2): stores 2, suspended'],
    ['B', 'stores the data of 2'],
    ['A', 'stores the data of 1: the view says 2 and shows 1'],
  ],
  window: [2, 4],
  fixed: source`
    export class View {
      #id = ''
      #data: unknown

      async show(id: string): Promise<void> {
        this.#id = id
        const data = await load(id)
        if (this.#id !== id) return
        this.#data = data
      }

      get title(): string {
        return this.#id + String(this.#data)
      }
    }
  `,
  fixes: [
    'Compare the question again after the wait, and drop an answer that nobody asks for any more.',
    'Number the calls and store only the answer of the newest.',
    'Abort the older request when a newer one begins.',
  ],
}
