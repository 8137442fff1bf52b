/**
 * H311 outlives its subscription: a subscriber starts work that delivers later, and hands back nothing that
 * would end it. When the subscription is ended, or restarted with other inputs, the old work continues and
 * delivers all the same.
 *
 * Two protocols have this form: the function of an `Observable`, whose answer is the teardown, and the
 * function of a React effect, whose answer is the clean-up.
 */
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import type { Value } from '../ir/values.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Answer } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { endOnCleanup, ignoreWhenEnded } from './fixes.ts'
import type { Host } from './host.ts'
import type { Model } from './program-model.ts'
import { isLook, isWithin } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

interface Protocol {
  readonly name: string
  readonly class: Draft['class']
  /** The call delivers something. */
  readonly delivers: (site: CallSite, subscriber: FunctionUnit) => boolean
  /** The call begins a subscription that can end. */
  readonly begins: (site: CallSite) => boolean
}

const observing = new Set(['next', 'error', 'complete'])

const observable: Protocol = {
  name: 'Observable',
  class: 'lifetime-mismatch',
  begins: ({ isNew }) => isNew,
  delivers: ({ name, receiver }, subscriber) =>
    observing.has(name) && receiver?.scope === 'parameter' && receiver.unit === subscriber,
}

const effects: readonly Protocol[] = ['useEffect', 'useLayoutEffect'].map((name) => ({
  name,
  class: 'stale-reference',
  // Without a list it runs once for each rendering, with an empty one only once.
  begins: ({ args, isNew }) => !isNew && (args[1]?.parts?.length ?? 0) > 0,
  delivers: isStateSetter,
}))

/** `const [value, setValue] = useState()`. */
function isStateSetter({ callee }: CallSite): boolean {
  if (callee.kind !== 'name' || callee.path.length > 0) return false
  const value = callee.scope.find(callee.name)?.value
  return [...(value?.calls ?? []), ...(value?.from ?? [])].some(({ name }) => name === 'useState')
}

export function outlivesSubscription(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const protocol of [observable, ...effects]) {
    for (const site of model.calls.named(protocol.name)) {
      const subscriber = site.callbacks[0]?.unit
      if (subscriber === undefined || !protocol.begins(site)) continue
      const draft = from(model, protocol, site, subscriber)
      if (draft !== undefined) drafts.push(draft)
    }
  }
  return drafts
}

function from(
  model: Model,
  protocol: Protocol,
  site: CallSite,
  subscriber: FunctionUnit,
): Draft | undefined {
  if (subscriber.returned.length > 0 || subscriber.host.graph === undefined) return undefined
  const host = model.hostOf(subscriber.host)
  if (protocol === observable && !startsWork(host, subscriber)) return undefined
  for (const { event } of host.calls) {
    if (!isWithin(event.owner, subscriber) || !protocol.delivers(event, subscriber)) continue
    const way = unlookedWay(host, subscriber, event)
    if (way !== undefined) return describe(protocol, host, site, event, way)
  }
  return undefined
}

/**
 * A callback that only listens to a promise has nothing to end; the receiver of the subscriber may add the teardown.
 */
function startsWork(host: Host, subscriber: FunctionUnit): boolean {
  const inside = host.calls.filter(({ event }) => isWithin(event.owner, subscriber))
  const isSubscriber = ({ location }: Value): boolean =>
    location?.scope === 'parameter' && location.unit === subscriber && location.depth === 0
  return (
    inside.some(
      ({ event }) => !continuing.has(event.name) && !observable.delivers(event, subscriber),
    ) && !inside.some(({ event }) => event.owner === subscriber && event.args.some(isSubscriber))
  )
}

const continuing = new Set(['then', 'catch', 'finally'])

/** From the subscriber over a promise to the delivery, without a check after the promise. */
function unlookedWay(host: Host, subscriber: FunctionUnit, delivery: CallSite): Answer | undefined {
  return ask(
    host.graph,
    { block: host.graph.entry, index: -1 },
    {
      states: 2,
      start: 0,
      step(event, state) {
        if (event === delivery) return state === 1 ? found : stop
        if (event.op === 'suspend') return isWithin(event.owner, subscriber) ? 1 : state
        return state === 1 && event.op === 'read' && isLook(event) ? stop : state
      },
    },
  )
}

function describe(
  protocol: Protocol,
  host: Host,
  site: CallSite,
  delivery: CallSite,
  way: Answer,
): Draft {
  const suspension = way.suspensions.at(-1)!
  const isEffect = protocol !== observable
  return {
    rule: 'H311',
    class: protocol.class,
    level: 'warning',
    message: `${host.unit.namedAs} starts work in \`${textOf(site, 30)}\` and hands back nothing that ends it: \`${textOf(delivery, 40)}\` is called after ${isEffect ? 'the inputs have changed' : 'the subscription has ended'}`,
    locations: [],
    check: suspension,
    act: delivery,
    suspensions: [suspension],
    conflict: site,
    steps: [
      {
        task: 'A',
        text: `starts the work and waits: \`${textOf(suspension)}\``,
        at: suspension,
        isCheckpoint: true,
      },
      {
        task: 'B',
        text: isEffect
          ? 'the inputs change: the effect runs again, or the component is gone'
          : 'unsubscribes',
        at: site,
      },
      {
        task: 'A',
        text: `delivers the result of the old request: \`${textOf(delivery)}\``,
        at: delivery,
      },
    ],
    window: [0, 2],
    evidence: [
      `the function that is given to ${protocol.name} returns nothing`,
      'nothing is checked between the suspension and the delivery',
    ],
    fixes: [ignoreWhenEnded([3, 3]), endOnCleanup([2, 3])],
  }
}

export const outlivesSubscriptionPage: RulePage = {
  id: 'H311',
  name: 'outlives-subscription',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary:
    'A subscriber or effect starts work that continues after its end, and nothing can end it.',
  what: `The function of an \`Observable\` or of a React effect starts asynchronous work whose end delivers:
it calls the observer, or sets state. The function returns no teardown, and nothing is checked before the
delivery.`,
  why: `After unsubscribe the request continues, and the observer is called after its owner has ended. An effect
runs again when its inputs change: the answer for the old inputs may come last, and is shown for the new
ones.`,
  race: source`
    import { Observable } from 'rxjs'

    export function news(url: string): Observable<string> {
      return new Observable((observer) => {
        fetch(url)
          .then((response) => response.text())
          .then((text) => {
            observer.next(text)
            observer.complete()
          })
      })
    }
  `,
  steps: [
    ['A', 'subscribe(): fetch(url) is on its way'],
    ['B', 'unsubscribe(): there is nothing to call'],
    ['A', 'the answer is there: observer.next(text)'],
  ],
  window: [1, 3],
  fixed: source`
    import { Observable } from 'rxjs'

    export function news(url: string): Observable<string> {
      return new Observable((observer) => {
        const controller = new AbortController()
        fetch(url, { signal: controller.signal })
          .then((response) => response.text())
          .then((text) => {
            observer.next(text)
            observer.complete()
          })
        return () => controller.abort()
      })
    }
  `,
  fixes: [
    'Return a function that aborts the work.',
    'Return a function that sets a flag, and check the flag before each delivery.',
  ],
}
