/**
 * H403 overlapping timer: an interval starts an asynchronous function again and again, whether or not
 * the last round has ended. When it takes longer than the period, rounds pile up on the same state.
 */
import type { Access } from '../ir/graph.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { late, phasesOf } from '../summaries/reached.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { inFlightFlag, noOverlap } from './fixes.ts'
import { pushTo } from './host.ts'
import type { Model } from './program-model.ts'
import { eventsOf } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function overlappingTimer(model: Model): Draft[] {
  const drafts: Draft[] = []
  const seen = new Set<FunctionUnit>()
  for (const site of model.calls.named('setInterval')) {
    for (const work of workOf(model, site)) {
      if (seen.has(work)) continue
      seen.add(work)
      const draft = from(model, site, work)
      if (draft !== undefined) drafts.push(draft)
    }
  }
  for (const [work, triggers] of triggersOf(model)) {
    if (seen.has(work) || triggers.length < 2) continue
    const draft = from(model, triggers[0]!, work)
    if (draft !== undefined) drafts.push({ ...draft, level: 'note' })
  }
  return drafts
}

/** Functions that listeners and timers start without waiting for them, with who starts them. */
function triggersOf(model: Model): Map<FunctionUnit, CallSite[]> {
  const triggers = new Map<FunctionUnit, CallSite[]>()
  for (const site of model.calls.triggers)
    for (const work of workOf(model, site)) if (work.host === work) pushTo(triggers, work, site)
  return triggers
}

/** The work of a round: the callback itself, and the functions it starts. */
function workOf(model: Model, timer: CallSite): FunctionUnit[] {
  const found: FunctionUnit[] = []
  for (const { unit } of timer.callbacks) {
    if (unit.suspensions.some((one) => one.kind !== 'continuation')) found.push(unit)
    for (const site of unit.calls) {
      if (unit.isAsync && site.isAwaited) continue
      for (const target of site.targets)
        if (target.host === target && model.summaries(target).isAsync) found.push(target)
    }
  }
  return found
}

function from(model: Model, timer: CallSite, work: FunctionUnit): Draft | undefined {
  const { host } = work
  const { graph } = host
  if (graph === undefined) return undefined
  const suspension =
    work.suspensions.find(
      (one) => one.kind === 'await' || one.kind === 'yield' || one.kind === 'for-await',
    ) ?? work.suspensions[0]
  if (suspension === undefined) return undefined
  if (work.suspensions.some((one) => model.reservations.at(host, one) !== undefined))
    return undefined
  if (
    model.serial.guardOf(host) !== undefined ||
    model.serial.chainAt(graph, suspension) !== undefined
  )
    return undefined
  if (isGuardedByName(work)) return undefined
  const effect = lateEffect(work)
  if (effect === undefined) return undefined
  const others = otherRoots(work, timer)
  const check: Place = firstCheck(work) ?? {
    owner: work,
    start: work.start,
    end: headEnd(work),
  }
  const name = effect.location.name
  return {
    rule: 'H403',
    class: 'missing-guard',
    level: others.length > 0 || work.host !== work ? 'warning' : 'note',
    message: `${timer.owner.namedAs} starts ${work.namedAs} ${timer.name === 'setInterval' ? 'at every tick' : 'when something happens, and so do other callers'}, also while the last round is still waiting: rounds overlap on ${name}`,
    locations: [effect.location.canonical],
    check,
    act: suspension,
    reportIn: work,
    suspensions: [suspension],
    conflict: timer,
    steps: [
      { task: 'A', text: `the timer starts a round: \`${textOf(timer)}\``, at: timer },
      { task: 'A', text: `waits: \`${textOf(suspension)}\``, at: suspension, isCheckpoint: true },
      { task: 'B', text: 'the timer fires again and starts another round', at: timer },
      { task: 'B', text: `works on the same ${name}`, at: effect },
      { task: 'A', text: `resumes: \`${textOf(effect)}\``, at: effect },
    ],
    window: [1, 4],
    evidence: [`${timer.name} in ${timer.owner.namedAs} does not wait for it`, ...others],
    fixes: [inFlightFlag(`${work.namedAs}()`, [3, 4]), noOverlap(`${work.namedAs}()`, [1, 5])],
  }
}

/** A debounced or limited function does not run twice, whatever the timer does. */
function isGuardedByName(work: FunctionUnit): boolean {
  return work.calls.some((site) => /tryLock|acquire|isLocked|runExclusive/i.test(site.name))
}

/** Shared state that is changed (or a queue that is fed) after the first suspension. */
function lateEffect(work: FunctionUnit): Access | undefined {
  const { graph } = work.host
  if (graph === undefined) return undefined
  const phases = phasesOf(graph)
  let used: Access | undefined
  for (const { event, block } of eventsOf(graph)) {
    if ((phases[block.id]! & late) === 0 || event.op === 'suspend' || event.op === 'call') continue
    if (event.op !== 'read' && event.op !== 'write') continue
    if (!isInside(event.owner, work) || event.location.scope === 'parameter') continue
    if (event.op === 'write' && event.kind !== 'null' && !event.isInitial) return event
    if (
      event.use !== undefined &&
      /^(?:add|push|enqueue|send|insert|save|write|schedule|emit)/.test(event.use.name)
    )
      used ??= event
  }
  return used
}

function isInside(unit: FunctionUnit, outer: FunctionUnit): boolean {
  for (let at: FunctionUnit | undefined = unit; at !== undefined; at = at.parent)
    if (at === outer) return true
  return false
}

function firstCheck(work: FunctionUnit): Access | undefined {
  const { graph } = work.host
  if (graph === undefined || work.host !== work) return undefined
  for (const { event } of eventsOf(graph)) {
    if (event.op === 'suspend') return undefined
    if (event.op === 'read' && event.checks.length > 0 && event.owner === work) return event
  }
  return undefined
}

function otherRoots(work: FunctionUnit, timer: CallSite): string[] {
  const found: string[] = []
  for (const reach of ['request', 'event', 'exported'] as const) {
    const why = work.reach.get(reach)
    if (why !== undefined && !why.text.startsWith(`setInterval in ${timer.owner.namedAs}`))
      found.push(why.text)
  }
  return found
}

/** Where its body begins: a place that other layouts of the code have too. */
function headEnd({ node, end }: FunctionUnit): number {
  const { body } = node as { readonly body?: { readonly start: number } | null }
  return body?.start ?? end
}

export const overlappingTimerPage: RulePage = {
  id: 'H403',
  name: 'overlapping-timer',
  class: 'missing-guard',
  level: 'warning',
  summary: 'An async callback runs periodically, and the next round does not wait for the last.',
  what: `An async function without protection against overlapping itself is called by setInterval,
or by an event that comes again and again.`,
  why: `The day one round takes longer than the interval, two run at once, then three. They slow each
other down, the queue grows, and the process runs out of memory.`,
  race: source`
    export class Sync {
      #last = 0

      start(): void {
        setInterval(async () => {
          const changes = await fetchChanges(this.#last)
          await store(changes)
          this.#last = changes.at(-1)?.id ?? this.#last
        }, 1_000)
      }
    }
  `,
  steps: [
    ['A', 'first round: fetches the changes after 0'],
    ['A', 'await store(): suspended, it takes long'],
    ['B', 'second round: fetches the changes after 0 again'],
    ['B', 'stores them a second time'],
  ],
  window: [2, 4],
  fixed: source`
    import { setTimeout as sleep } from 'node:timers/promises'

    export class Sync {
      #last = 0

      async start(signal: AbortSignal): Promise<void> {
        while (!signal.aborted) {
          const changes = await fetchChanges(this.#last)
          await store(changes)
          this.#last = changes.at(-1)?.id ?? this.#last
          await sleep(1_000, undefined, { signal })
        }
      }
    }
  `,
  fixes: [
    'Loop: work, then sleep. The next round starts when the last one has ended.',
    'Set a flag before the first suspension, skip a round while it is set, and clear it in finally.',
  ],
}
