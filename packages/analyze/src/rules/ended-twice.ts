/**
 * H212 ended twice: two events of one handle both come when it ends (`error` and then `close`), and the
 * listeners of both of them count the end or call the caller back, without checking whether the other one has.
 *
 * A timer that gives the handle back itself is such an event too: the end of the handle follows it. A promise
 * is settled once however often it is tried, so `resolve` and `reject` are not meant here.
 */
import type { Access, Event, Graph } from '../ir/graph.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { targetsOf } from '../summaries/call-order.ts'
import { callbackOf } from './called-back-twice.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { callOnce, onlyFirstEnd } from './fixes.ts'
import { pushTo } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isLook } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

/** Events that come together, by the contract of Node's streams, sockets, requests, processes and workers. */
const follows: ReadonlyMap<string, readonly string[]> = new Map([
  ['timer', ['close', 'exit']],
  ['error', ['close', 'exit']],
  ['exit', ['close']],
  ['end', ['close']],
  ['finish', ['close']],
  ['aborted', ['close']],
  ['disconnect', ['exit', 'close']],
])

/** A listener, or a timer that ends the handle. */
interface Ending {
  readonly site: CallSite
  readonly unit: FunctionUnit
  /** `timer` when it is not an event. */
  readonly event: string
}

export function endedTwice(model: Model): Draft[] {
  const drafts: Draft[] = []
  const counts = new Counts()
  for (const endings of endingsByHandle(model).values()) {
    const draft = endings.length > 1 ? fromHandle(endings, counts) : undefined
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

function endingsByHandle(model: Model): ReadonlyMap<string, readonly Ending[]> {
  const byHandle = new Map<string, Ending[]>()
  for (const site of model.calls.triggers) {
    if (site.owner.host.graph === undefined) continue
    for (const { unit, role } of site.callbacks) {
      if (role === 'timer') {
        for (const handle of releasedBy(model, unit))
          pushTo(byHandle, keyOf(site, handle), { site, unit, event: 'timer' })
        continue
      }
      const event = role === 'event' ? eventOf(site, unit) : undefined
      const handle = event === undefined ? undefined : handleOf(site)
      if (event !== undefined && handle !== undefined)
        pushTo(byHandle, keyOf(site, handle), { site, unit, event })
    }
  }
  return byHandle
}

function keyOf({ owner }: CallSite, handle: string): string {
  return `${owner.file.id}:${owner.start}:${handle}`
}

const path = /^[\w$#]+(?:\s*\.\s*[\w$#]+)*$/

/** The handle to which the listener is added: names only, so that two listeners of one function are on one object. */
function handleOf(site: CallSite): string | undefined {
  const text = site.owner.file.parsed.text.slice(site.start, Math.min(site.end, site.start + 200))
  const handle = text.split(/\s*\??\.\s*(?:on|once|addListener)\s*\(/, 1)[0]!.trim()
  return path.test(handle) ? handle : undefined
}

/** The name of the event where it is written down. */
function eventOf(site: CallSite, unit: FunctionUnit): string | undefined {
  const { text } = site.owner.file.parsed
  const isInline = unit.start >= site.start && unit.end <= site.end
  const before = isInline
    ? text.slice(Math.max(site.start, unit.start - 60), unit.start)
    : text.slice(Math.max(site.start, site.end - 90), site.end)
  return isInline
    ? /(['"`])([\w:-]+)\1\s*,\s*(?:async\s+)?$/.exec(before)?.[2]
    : /(['"`])([\w:-]+)\1\s*,\s*[\w$.#]+\s*\)$/.exec(before)?.[2]
}

/** The handles that a timer gives back, by their names. */
function releasedBy(model: Model, unit: FunctionUnit): readonly string[] {
  const { text } = unit.file.parsed
  return unit.calls
    .filter((call) => call.callee.kind === 'member' && model.lifecycles.isRelease(call))
    .map((call) => text.slice(call.start, Math.min(call.end, call.start + 200)))
    .map((call) => call.split(/\s*\??\.\s*[\w$#]+\s*\(/, 1)[0]!.trim())
    .filter((handle) => path.test(handle))
}

/** An action that may happen once for each end, and its place. */
interface Once {
  readonly what: unknown
  readonly name: string
  readonly at: Place
  readonly access?: Access
}

/** Each listener is looked up by its event and its effects, so that no pair is compared. */
function fromHandle(endings: readonly Ending[], counts: Counts): Draft | undefined {
  const later = new Map<string, Map<unknown, readonly [Ending, Once]>>()
  const done = endings.map((ending) => ({ ending, onces: counts.onceIn(ending.unit) }))
  for (const { ending, onces } of done) {
    let known = later.get(ending.event)
    if (known === undefined) later.set(ending.event, (known = new Map()))
    for (const once of onces)
      if (!known.has(once.what)) known.set(once.what, [ending, once] as const)
  }
  for (const { ending, onces } of done) {
    for (const event of follows.get(ending.event) ?? []) {
      const known = later.get(event)
      if (known === undefined) continue
      for (const once of onces) {
        const again = known.get(once.what)
        if (again !== undefined) return describe(ending, again[0], once, again[1])
      }
    }
  }
  return undefined
}

/** More counters than this in one helper are skipped: it may be called from thousands of listeners. */
const mostCounts = 16

/** The counts of functions. Graphs are sorted once, however many listeners are in one. */
class Counts {
  readonly #events = new Map<Graph, ReadonlyMap<FunctionUnit, readonly Event[]>>()
  readonly #helpers = new Map<FunctionUnit, readonly Access[]>()

  /** The counting and the calling back in a listener or in a function that it calls, before any look. */
  onceIn(unit: FunctionUnit): readonly Once[] {
    const found: Once[] = []
    for (const event of this.#inOrder(unit)) {
      if (isLook(event) || removesListener(event)) break
      if (event.op === 'write' && isCount(event)) found.push(counted(event, event))
      if (event.op !== 'call') continue
      const callback = callbackOf(event)
      if (callback !== undefined && callback.unit !== unit)
        found.push({ what: callback, name: event.name, at: event })
      for (const target of targetsOf(event))
        if (target !== unit && target !== event.owner)
          for (const access of this.#countedBy(target)) found.push(counted(access, event))
    }
    return found
  }

  #countedBy(helper: FunctionUnit): readonly Access[] {
    const known = this.#helpers.get(helper)
    if (known !== undefined) return known
    const found: Access[] = []
    for (const event of this.#inOrder(helper)) {
      if (isLook(event) || event.op === 'suspend' || removesListener(event)) break
      if (event.op === 'write' && isCount(event)) found.push(event)
      if (found.length === mostCounts) break
    }
    this.#helpers.set(helper, found)
    return found
  }

  /** The events of a function itself, in the order of its text. */
  #inOrder(unit: FunctionUnit): readonly Event[] {
    const { graph } = unit.host
    if (graph === undefined) return []
    let byOwner = this.#events.get(graph)
    if (byOwner === undefined) this.#events.set(graph, (byOwner = sortByOwner(graph)))
    return byOwner.get(unit) ?? []
  }
}

function sortByOwner(graph: Graph): ReadonlyMap<FunctionUnit, readonly Event[]> {
  const byOwner = new Map<FunctionUnit, Event[]>()
  for (const { events } of graph.blocks)
    for (const event of events) pushTo(byOwner, event.owner, event)
  for (const events of byOwner.values()) events.sort((a, b) => a.start - b.start)
  return byOwner
}

function counted(access: Access, at: Place): Once {
  const { canonical } = access.location
  return { what: canonical, name: canonical.name, at, access }
}

/** `n--`, `n += 1`: one more or one less. */
function isCount(access: Access): boolean {
  if (access.kind !== 'rmw' || access.isInitial) return false
  const { text } = access.owner.file.parsed
  return (
    /(?:--|\+\+)\s*$/.test(text.slice(access.start - 3, access.start)) ||
    /(?:--|\+\+|[-+]=\s*1)\s*$/.test(text.slice(access.start, access.end)) ||
    /^\s*(?:--|\+\+|[-+]=\s*1\b)/.test(text.slice(access.end, access.end + 6))
  )
}

const removers = new Set(['off', 'removeListener', 'removeAllListeners'])

function removesListener(event: Event): boolean {
  return event.op === 'call' && removers.has(event.name)
}

function describe(first: Ending, second: Ending, once: Once, again: Once): Draft {
  const { namedAs } = first.site.owner
  const isCounter = once.access !== undefined
  const what = isCounter ? `changes ${once.name}` : `calls ${once.name}`
  const one = first.event === 'timer' ? 'the timer that ends it' : `\`${first.event}\``
  return {
    rule: 'H212',
    class: isCounter ? 'lifetime-mismatch' : 'stale-reference',
    level: 'warning',
    message: `${namedAs} ${what} for ${one} and again for \`${second.event}\`, and both come for one end: it is counted or answered twice`,
    locations: once.access === undefined ? [] : [once.access.location.canonical],
    check: once.at,
    act: again.at,
    suspensions: [],
    conflict: again.at,
    steps: [
      { task: 'A', text: `${one} comes: \`${textOf(once.at)}\``, at: once.at },
      {
        task: 'B',
        text: `\`${second.event}\` follows for the same end: \`${textOf(again.at)}\``,
        at: again.at,
      },
    ],
    window: [0, 1],
    evidence: [
      `\`${second.event}\` comes after ${one} by the contract of the object`,
      overlapOf(first.site.owner.host)?.text ?? `${namedAs} can be called`,
    ],
    fixes: [
      isCounter ? onlyFirstEnd(once.name, [1, 2]) : callOnce(once.name, [1, 2]),
      isCounter ? callOnce('the end', [1, 2]) : onlyFirstEnd(once.name, [1, 2]),
    ],
    reportIn: once.at.owner,
  }
}

export const endedTwicePage: RulePage = {
  id: 'H212',
  name: 'ended-twice',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'Two events of one end both count it, or both call back.',
  what: `A function listens to two events of one handle that both come when it ends: \`error\` and then
\`close\`, \`exit\` and then \`close\`, or a timer that destroys the handle and then the \`close\` of it. Both
listeners change the same counter or call the same callback, and neither checks whether the other one was first.`,
  why: `One end is counted twice: the number of running tasks falls below the real one, so more run than
the limit allows, and a drain that waits for zero ends too early. Or the caller is called back twice, with an
error and with a result.`,
  race: source`
    import { spawn } from 'node:child_process'

    export class Runner {
      #active = 0

      run(command: string): void {
        this.#active++
        const child = spawn(command)
        child.on('error', () => {
          this.#active--
        })
        child.on('close', () => {
          this.#active--
        })
      }

      get isIdle(): boolean {
        return this.#active === 0
      }
    }
  `,
  steps: [
    ['A', 'error: the process was killed by a failed write, #active falls from 2 to 1'],
    ['B', 'close: the same process, #active falls to 0'],
    ['B', 'isIdle says yes while the other process runs'],
  ],
  window: [1, 2],
  fixed: source`
    import { spawn } from 'node:child_process'

    export class Runner {
      #active = 0

      run(command: string): void {
        this.#active++
        const child = spawn(command)
        child.on('error', (error) => {
          console.error(error)
        })
        child.on('close', () => {
          this.#active--
        })
      }

      get isIdle(): boolean {
        return this.#active === 0
      }
    }
  `,
  fixes: [
    'Count the end in the listener of the last event only, which is `close`.',
    'Let both listeners call one function that does its work the first time only.',
  ],
}
