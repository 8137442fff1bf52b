/**
 * H504 floating dependency: a call that stores something is started and not waited for, and later
 * code depends on it: the location is read here, or the caller believes that all is done.
 *
 * `void f()` and `f().catch(…)` say that this is meant. A call that is awaited everywhere else says
 * that it is not.
 */
import type { Access } from '../ir/graph.ts'
import { isOwnVariable } from '../ir/own-variable.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { targetsOf } from '../summaries/call-order.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { awaitIt, keepPromise } from './fixes.ts'
import type { At, Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isExecutor } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function floatingDependency(model: Model): Draft[] {
  const drafts: Draft[] = []
  // An async function that awaits something suspends, and so does its host.
  for (const host of model.hosts.suspending) {
    for (const call of host.linked) {
      const { event: site } = call
      if (!site.isFloating || site.isDetached || !isAsync(model, site) || !isInAsync(site.owner))
        continue
      const read = readAfter(model, host, call)
      const elsewhere = read === undefined ? awaitedElsewhere(model, site) : undefined
      if (
        read === undefined &&
        (elsewhere === undefined ||
          !elsewhere.isDiscarded ||
          isBatched(site) ||
          !goesOn(host, call))
      )
        continue
      drafts.push(describe(host, site, read, elsewhere))
    }
  }
  for (const site of model.calls.named('forEach')) {
    const draft = floatingWalk(model, site)
    if (draft !== undefined) drafts.push(draft)
  }
  for (const site of model.calls.named('then')) {
    const draft = floatingChain(model, site)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

/** `items.forEach(async …)` in an async function: the walk is over before any of the work is done. */
function floatingWalk(model: Model, site: CallSite): Draft | undefined {
  const { owner } = site
  const callback = site.callbacks[0]?.unit
  if (!owner.isAsync || callback?.isAsync !== true || owner.host.graph === undefined)
    return undefined
  if (!callback.suspensions.some(({ kind }) => kind === 'await')) return undefined
  return describe(model.hostOf(owner.host), site, undefined, undefined)
}

/**
 * `f().then(() => release())` as a statement of an async function: the function is done before the
 * continuation has run, and an error of it reaches no caller.
 */
function floatingChain(model: Model, site: CallSite): Draft | undefined {
  const { owner } = site
  if (!owner.isAsync || !isStatement(site) || !isOfCall(site)) return undefined
  const isLasting = site.callbacks.some(({ unit }) =>
    unit.calls.some((call) => model.lifecycles.isRelease(call)),
  )
  if (!isLasting || owner.host.graph === undefined || settlesOwnPromise(site)) return undefined
  return describe(model.hostOf(owner.host), site, undefined, undefined)
}

/** The continuation settles a promise that the function has made and hands out: callers wait for that. */
function settlesOwnPromise({ owner, callbacks }: CallSite): boolean {
  const hasPromise = owner.file.units.some((one) => one.parent === owner && isExecutor(one))
  return (
    hasPromise &&
    callbacks.some(({ unit }) =>
      unit.calls.some(({ callee }) => {
        if (callee.kind !== 'name' || callee.path.length > 0) return false
        const binding = callee.scope.find(callee.name)
        return binding?.unit === owner && binding.assignments > 0
      }),
    )
  )
}

/** `f().then(…)`: nothing else has the promise of `f()`. */
function isOfCall({ owner, start, callbacks }: CallSite): boolean {
  const first = callbacks[0]?.unit.start ?? start
  return /\)\s*\.\s*then\s*\($/.test(owner.file.parsed.text.slice(start, first).trimEnd())
}

/** Nothing is done with the promise: no `await`, no `return`, no `void`, no variable. */
function isStatement({ owner, start, end }: CallSite): boolean {
  const { text } = owner.file.parsed
  return (
    /(?:^|[;{}\n])\s*$/.test(text.slice(Math.max(0, start - 40), start)) &&
    /^\s*(?:;|\}|\n)/.test(text.slice(end, end + 20)) &&
    !/^\s*\./.test(text.slice(end, end + 40))
  )
}

function isAsync(model: Model, site: CallSite): boolean {
  const targets = targetsOf(site)
  return (
    targets.length > 0 &&
    !site.isGuess &&
    targets.every((target) => target.isAsync && doesWork(model, target))
  )
}

/** Whether it waits for something, or returns the promise of something. */
function doesWork(model: Model, target: FunctionUnit): boolean {
  return model.summaries(target).suspends !== 'never' || target.calls.some((one) => one.isReturned)
}

/** An async function that awaits other things: here the author has thought about order. */
function isInAsync(unit: FunctionUnit): boolean {
  return (
    unit.isAsync && unit.suspensions.some((one) => one.kind === 'await' || one.kind === 'yield')
  )
}

/** A read of a location that the callee stores late, with no wait in between that would help. */
function readAfter(model: Model, host: Host, call: At<CallSite>): Access | undefined {
  for (const target of targetsOf(call.event)) {
    const { after, before } = model.summaries(target)
    const answer = ask(host.graph, call, {
      states: 1,
      start: 0,
      step(event) {
        if (event.op === 'suspend' && event.joins.includes(call.event)) return stop
        if (event.op === 'write' || event.op === 'suspend') return event.op === 'suspend' ? stop : 0
        if (event.op !== 'read' || event.owner !== call.event.owner) return 0
        const location = event.location.canonical
        if (isOwnVariable(location, host.unit)) return 0
        const stored = after.get(location)?.store
        return stored?.distance === 0 &&
          before.get(location)?.store === undefined &&
          stored.access.location.scope !== 'parameter'
          ? found
          : 0
      },
    })
    if (answer?.event !== undefined) return answer.event as Access
  }
  return undefined
}

/** An entry of a batch is sent, and awaited, with the batch. */
function isBatched(site: CallSite): boolean {
  return /pipeline|multi\b|transaction|batch|\btx\b/i.test(textOf(site, 120))
}

/** Most other callers (or, where the object is not known, something of its name) wait for it. */
function awaitedElsewhere(model: Model, site: CallSite): CallSite | undefined {
  const [target] = site.targets
  if (target === undefined) return undefined
  const others = model.calls
    .named(site.name)
    .filter((one) => one !== site && (one.targets.length === 0 || one.targets.includes(target)))
  const waiting = others.filter((one) => one.isAwaited || one.isReturned)
  return waiting.length > 0 && waiting.length * 2 > others.length ? waiting[0] : undefined
}

/** Something is done after it that looks like success: a return with a value, an event. */
function goesOn(host: Host, call: At<CallSite>): boolean {
  const { text } = host.unit.file.parsed
  const rest = text.slice(call.event.end, Math.min(call.event.owner.end, call.event.end + 400))
  return /\breturn\s+[^;\s}]|\bemit\(|\bdispatch\(|\bresolve\(|\bnotify\w*\(/.test(rest)
}

function describe(
  host: Host,
  site: CallSite,
  read: Access | undefined,
  elsewhere: CallSite | undefined,
): Draft {
  const text = textOf(site, 50)
  const end: Access | CallSite = read ?? site
  return {
    rule: 'H504',
    class: 'atomicity-gap',
    level: 'warning',
    message:
      read === undefined
        ? `${site.owner.namedAs} does not wait for \`${text}\`${elsewhere === undefined ? '' : ', which is awaited elsewhere'}: its caller continues before it is done`
        : `${site.owner.namedAs} does not wait for \`${text}\` and then reads ${read.location.name}, which is not stored yet`,
    locations: read === undefined ? [] : [read.location.canonical],
    check: site,
    act: end,
    suspensions: [],
    conflict: elsewhere ?? site,
    steps: [
      { task: 'A', text: `starts \`${text}\` and does not wait`, at: site },
      {
        task: 'B',
        text: 'the started work is suspended before it has stored anything',
        at: site,
        isCheckpoint: true,
      },
      {
        task: 'A',
        text:
          read === undefined
            ? 'continues and reports success'
            : `reads ${read.location.name}: the old value`,
        at: end,
      },
      { task: 'B', text: 'stores the new value; if it fails, the error is not reported', at: site },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'the caller continues',
      elsewhere === undefined
        ? 'it is read before it is stored'
        : `${elsewhere.owner.namedAs} waits for the same call`,
    ],
    fixes: [awaitIt(text, [1, 3]), keepPromise(text, [2, 3])],
  }
}

export const floatingDependencyPage: RulePage = {
  id: 'H504',
  name: 'floating-dependency',
  class: 'atomicity-gap',
  level: 'error',
  summary: 'A promise is not awaited, although later code reads the location that it writes.',
  what: `An async call is started and not awaited; it writes a shared location; the caller then reads
that location, or reports that it is done.`,
  why: `The read gets the old value, mostly: sometimes the write is fast enough, and the tests pass.`,
  race: source`
    export class Tokens {
      #current = ''

      async #store(tokens: string): Promise<void> {
        await writeTokens(tokens)
        this.#current = tokens
      }

      async refresh(): Promise<string> {
        const tokens = await requestTokens()
        this.#store(tokens)
        return this.#current
      }
    }
  `,
  steps: [
    ['A', 'refresh(): starts to store the tokens, and does not wait'],
    ['A', 'returns the old tokens'],
    ['B', 'the tokens are stored'],
  ],
  window: [1, 3],
  fixed: source`
    export class Tokens {
      #current = ''

      async #store(tokens: string): Promise<void> {
        await writeTokens(tokens)
        this.#current = tokens
      }

      async refresh(): Promise<string> {
        const tokens = await requestTokens()
        await this.#store(tokens)
        return this.#current
      }
    }
  `,
  fixes: ['Await it.', 'Use the value that you have, instead of reading it back.'],
}
