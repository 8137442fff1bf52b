/**
 * H102 check-then-subscribe: a state is asked for, and only then a listener for its change is added.
 * When it changes in between, the event is gone and the listener waits for ever.
 *
 * A remote question ("is it finished?") is stale the moment it is answered; a local one after the
 * next suspension. State and event belong together when their names say the same thing.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import { isCopy } from '../ir/splice.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { pollOnce, subscribeFirst } from './fixes.ts'
import { dependsOn } from './check-then-act.ts'
import type { At, Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { eventsOf, inSameRegion, isExecutor, isLook, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

const subscribe = /^(?:on|once|addListener|addEventListener|subscribe|prependListener)$/

/** Words for the same change. */
const topics: readonly RegExp[] = [
  /finish|complet|done|succe|fail|settl|resol|result|end(?![a-z])|Ended/i,
  /ready|connect|open|listen|online|start|load|init|establish|authenticat/i,
  /clos|exit|disconnect|destroy|stop|terminat|dead|gone/i,
  /idle|drain|empty|flush|free|available/i,
]

export function checkThenSubscribe(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (host.unit.kind === 'constructor') continue
    const late = listensLate(host) ?? registersLate(model, host)
    if (late !== undefined) {
      drafts.push(late)
      continue
    }
    for (const subscription of host.calls) {
      if (!isWaiting(subscription.event)) continue
      const topic = topicOf(subscription.event)
      if (topic === 0) continue
      const draft = remote(host, subscription, topic) ?? local(host, subscription, topic)
      if (draft === undefined) continue
      drafts.push(draft)
      break
    }
  }
  return drafts
}

/** A listener in a promise's executor (or `once(emitter, …)`): a caller waits for the event. */
function isWaiting(site: CallSite): boolean {
  // The function of node:events, not the method of an emitter, which types find there as well.
  if (site.external?.module.endsWith('events') === true && site.external.path.join() === 'once')
    return site.isJoined
  if (site.owner.kind !== 'callback' || site.owner.role !== 'sync') return false
  return (site.callbacks.length > 0 || site.args.length >= 2) && subscribe.test(site.name)
}

/** Events that come once and then never again, and how one sees that they have come. */
const lastEvents = new Map<string, RegExp>([
  ['abort', /aborted|reason/],
  ['close', /closed|destroyed|aborted|writableEnded|readyState|exitCode/],
  ['exit', /exitCode|signalCode|killed/],
  ['disconnect', /connected|exitCode/],
])

/**
 * A listener for an event that comes once, added after a suspension to an object that came from
 * outside, without checking whether it has come.
 */
function listensLate(host: Host): Draft | undefined {
  for (const subscription of host.calls) {
    const { event: site } = subscription
    if (!subscribe.test(site.name) || site.owner.role === 'event' || isCopy(site)) continue
    const text = textOf(site, 120)
    const [, object, event] = /^([\w$.?#]+?)\??\.\w+\(\s*['"`](\w+)['"`]/.exec(text) ?? []
    const sign = event === undefined ? undefined : lastEvents.get(event)
    if (object === undefined || sign === undefined || !isFromOutside(host, object)) continue
    const way = overSuspension(
      host.graph,
      { block: host.graph.entry, index: -1 },
      (one) => one === site,
    )
    const suspension = way?.suspensions.at(-1)
    if (way === undefined || suspension === undefined || suspension.kind === 'continuation')
      continue
    const { text: code } = host.unit.file.parsed
    const looks = new RegExp(
      `${object.replace(/[.$?]/g, '\\$&')}\\??\\.(?:${sign.source}|throwIfAborted)`,
    )
    if (looks.test(code.slice(suspension.start, host.unit.end))) continue
    return describe(host, suspension, site, [suspension], `whether \`${object}\` has ended`, [])
  }
  return undefined
}

/**
 * A waiter that is registered only after its request was sent: `await send(id)` and then
 * `new Promise((resolve) => waiting.set(id, resolve))`. The answer may come before the entry.
 */
function registersLate(model: Model, host: Host): Draft | undefined {
  if (!host.isWriting) return undefined
  for (const { location, accesses } of host.written) {
    const container = location.scope === 'entry' ? location.parent?.canonical : location
    if (container === undefined || !isLasting(container)) continue
    const add = accesses.find(({ access }) => isWaiter(access))
    if (add === undefined) continue
    const way = overSuspension(
      host.graph,
      { block: host.graph.entry, index: -1 },
      (event) => event === add.access,
      (event, isAfter) => isAfter && isLook(event),
    )
    const suspension = way?.suspensions.at(-1)
    if (suspension?.kind !== 'await' || suspension.joins.length === 0) continue
    if (!isKeyKnownBefore(host, location, suspension.start)) continue
    const settler = settlerOf(model, container, host)
    if (settler === undefined) continue
    return describe(host, suspension, add.access, [suspension], `\`${textOf(suspension)}\``, [
      settler,
    ])
  }
  return undefined
}

/** A key that is made after the suspension is one that cannot be answered to before. */
function isKeyKnownBefore({ unit }: Host, { name }: Location, start: number): boolean {
  const key = /\[([^[\]]+)\]$/.exec(name)?.[1]
  return key !== undefined && unit.file.parsed.text.slice(unit.start, start).includes(key)
}

function isLasting({ scope }: Location): boolean {
  return scope === 'instance' || scope === 'module' || scope === 'closure'
}

/** An entry of a container that has the `resolve` of a promise in it. */
export function isWaiter({ op, kind, owner, start, end }: Access): boolean {
  if (op !== 'write' || (kind !== 'fill' && kind !== 'append')) return false
  if (owner.kind !== 'callback' || owner.params.length === 0 || !isExecutor(owner)) return false
  const words: readonly string[] = owner.file.parsed.text.slice(start, end).match(/[\w$]+/g) ?? []
  return words.includes(owner.params[0]!)
}

/** Another function that looks the waiter up. */
function settlerOf(model: Model, container: Location, host: Host): Access | undefined {
  for (const unit of model.readers.of(container)) {
    if (unit === host.unit) continue
    for (const { location, accesses } of model.hostOf(unit).groups)
      if (location.scope === 'entry' && location.parent?.canonical === container)
        return accesses[0]?.access
  }
  return undefined
}

/** A parameter of the function, or a field of one: it was there before the suspension. */
function isFromOutside({ unit }: Host, object: string): boolean {
  const [root] = object.split(/[?.]/)
  return root !== undefined && unit.params.includes(root)
}

function topicsOf(text: string): number {
  let bits = 0
  for (const [index, topic] of topics.entries()) if (topic.test(text)) bits |= 1 << index
  return bits
}

/** The topic of a subscription: 0 when its event is not known. */
function topicOf(subscription: CallSite): number {
  const text = textOf(subscription, 80)
  return topicsOf(text.slice(text.indexOf('(')).split('=>')[0] ?? '')
}

const question = /^#?_*(?:is|has|was|get_?(?:state|status)|check|status|state|exists|in)/i

function remote(host: Host, subscription: At<CallSite>, topic: number): Draft | undefined {
  for (const asked of host.awaited) {
    const site = asked.event
    if (site.checks.length === 0) continue
    if (!question.test(site.name) || (topicsOf(site.name) & topic) === 0) continue
    const [check] = site.checks
    if (check === undefined || !dependsOn(host.graph, check.branch, subscription.block)) continue
    const way = overSuspension(
      host.graph,
      asked,
      (event) => event === subscription.event,
      (event, isAfter) => isAfter && event.op === 'call' && event.name === site.name,
    )
    if (way === undefined || asksAgain(host, subscription, site.name)) continue
    return describe(host, site, subscription.event, way.suspensions, `\`${textOf(site)}\``, [])
  }
  return undefined
}

function local(host: Host, subscription: At<CallSite>, topic: number): Draft | undefined {
  for (const { event, block, index } of eventsOf(host.graph)) {
    if (event.op !== 'read' || event.checks.length === 0) continue
    const { scope } = event.location.canonical
    if (scope !== 'instance' && scope !== 'module') continue
    if ((topicsOf(event.location.field) & topic) === 0) continue
    const [check] = event.checks
    if (check === undefined || !dependsOn(host.graph, check.branch, subscription.block)) continue
    const location = event.location.canonical
    const isCheck = (one: Event): boolean =>
      one !== event &&
      one.op === 'read' &&
      one.checks.length > 0 &&
      one.location.canonical === location
    const way = overSuspension(
      host.graph,
      { block, index },
      (one) => one === subscription.event,
      (one, isAfter) => isAfter && isCheck(one),
    )
    if (way === undefined) continue
    if (inSameRegion(host.graph, subscription, (one) => isCheck(one)) !== undefined) continue
    return describe(host, event, subscription.event, way.suspensions, location.name, [event])
  }
  return undefined
}

/** Whether it checks once more after it has subscribed. */
function asksAgain(host: Host, subscription: At<CallSite>, name: string): boolean {
  const way = overSuspension(
    host.graph,
    subscription,
    (event) => event.op === 'call' && event.name === name,
  )
  const same = inSameRegion(
    host.graph,
    subscription,
    (event) => event.op === 'call' && event.name === name,
  )
  return way !== undefined || same !== undefined
}

function describe(
  host: Host,
  check: Place,
  subscription: Place,
  suspensions: Draft['suspensions'],
  state: string,
  reads: readonly Access[],
): Draft {
  const overlap = overlapOf(host.unit)
  return {
    rule: 'H102',
    class: 'toctou',
    level: 'warning',
    message: `${host.unit.namedAs} checks ${state} before it listens for the change: if the change happens in between, the event is missed and the wait never ends`,
    locations: reads.map((read) => read.location.canonical),
    check,
    act: subscription,
    suspensions,
    steps: [
      { task: 'A', text: `asks \`${textOf(check)}\`: not yet`, at: check },
      {
        task: 'A',
        text: 'is suspended with an answer that grows old',
        at: suspensions[0] ?? check,
        isCheckpoint: true,
      },
      {
        task: 'B',
        text: 'changes the state and emits the event; nobody listens yet',
        at: suspensions[0] ?? check,
      },
      { task: 'A', text: `subscribes: \`${textOf(subscription)}\``, at: subscription },
      { task: 'A', text: 'waits for an event that has already happened', at: subscription },
    ],
    window: [0, 3],
    evidence: [
      'the state is changed by something outside this function: another process or an event',
      ...(overlap === undefined ? [] : [overlap.text]),
    ],
    fixes: [subscribeFirst([1, 4]), pollOnce([3, 5])],
  }
}

export const checkThenSubscribePage: RulePage = {
  id: 'H102',
  name: 'check-then-subscribe',
  class: 'toctou',
  level: 'error',
  summary: 'State is asked for first, and its change is subscribed to only after a suspension.',
  what: `A task asks whether something has happened (a field, a row, a key of another system), is
suspended, and then registers a listener for the event that would tell it. The event may have come in
between.`,
  why: `The listener waits for something that is over. The promise never settles; a request hangs
until a timeout that hides the cause, or for ever.`,
  race: source`
    import type { EventEmitter } from 'node:events'

    export class Job {
      readonly #events: EventEmitter
      readonly #id: string
      #isDone = false

      constructor(events: EventEmitter, id: string) {
        this.#events = events
        this.#id = id
        events.on('completed:' + id, () => (this.#isDone = true))
      }

      async waitUntilFinished(): Promise<void> {
        if (this.#isDone) return
        await this.#ready()
        await new Promise<void>((resolve) => {
          this.#events.once('completed:' + this.#id, () => resolve())
        })
      }

      async #ready(): Promise<void> {
        await connectionReady()
      }
    }
  `,
  steps: [
    ['A', 'waitUntilFinished(): the job is not done'],
    ['A', 'await this.#ready(): suspended'],
    ['B', 'the job completes, and the event is emitted: nobody listens'],
    ['A', 'subscribes to an event that has come and gone'],
  ],
  window: [2, 4],
  fixed: source`
    import type { EventEmitter } from 'node:events'

    export class Job {
      readonly #events: EventEmitter
      readonly #id: string
      #isDone = false

      constructor(events: EventEmitter, id: string) {
        this.#events = events
        this.#id = id
        events.on('completed:' + id, () => (this.#isDone = true))
      }

      async waitUntilFinished(): Promise<void> {
        await this.#ready()
        await new Promise<void>((resolve) => {
          this.#events.once('completed:' + this.#id, () => resolve())
          if (this.#isDone) resolve()
        })
      }

      async #ready(): Promise<void> {
        await connectionReady()
      }
    }
  `,
  fixes: [
    'Subscribe first, then ask, and unsubscribe if the answer makes the listener needless.',
    'Ask again, in the same region as the subscription.',
  ],
}
