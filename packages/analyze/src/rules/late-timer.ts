/**
 * H206 late timer: a timer releases whatever is then registered under a key, not the entry of the time when the
 * timer was started. If the entry was replaced in between, it hits the new one.
 */
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { clearWithEntry, identityCheck } from './fixes.ts'
import { isIdentityCheck } from './event-walk.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function lateTimer(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const timer of model.calls.triggers) {
    for (const { unit, role } of timer.callbacks) {
      if (role !== 'timer') continue
      const draft = from(model, timer, unit)
      if (draft !== undefined) drafts.push(draft)
    }
  }
  return drafts
}

function from(model: Model, timer: CallSite, unit: FunctionUnit): Draft | undefined {
  const release = unit.calls.find(
    (site) => model.lifecycles.isRelease(site) && site.receiver?.scope === 'entry',
  )
  const container = release?.receiver?.parent?.canonical
  if (release === undefined || container === undefined || container.scope === 'closure')
    return undefined
  const { graph } = unit.host
  if (graph === undefined || looksAtIdentity(model, unit)) return undefined
  const dropper = dropperOf(model, container, unit)
  if (dropper === undefined || dropper.clears) return undefined
  return describe(model, timer, release, container, dropper.unit)
}

function looksAtIdentity(model: Model, unit: FunctionUnit): boolean {
  return model
    .hostOf(unit.host)
    .graph.blocks.some(({ events }) =>
      events.some((event) => isIdentityCheck(event) && event.owner === unit),
    )
}

/** Which functions remove or replace entries, and whether timers are cleared there. */
function dropperOf(
  model: Model,
  container: Location,
  unit: FunctionUnit,
): { readonly unit: FunctionUnit; readonly clears: boolean } | undefined {
  let found: FunctionUnit | undefined
  for (const host of model.summaries.uses.hostsOf(container)) {
    for (const { location, accesses } of model.hostOf(host).groups) {
      if (location.parent?.canonical !== container) continue
      for (const { access } of accesses) {
        if (access.op !== 'write' || access.owner === unit) continue
        if (access.kind !== 'drop' && access.kind !== 'null') continue
        if (clearsTimer(access.owner)) return { unit: access.owner, clears: true }
        found ??= access.owner
      }
    }
  }
  return found && { unit: found, clears: false }
}

function clearsTimer(unit: FunctionUnit): boolean {
  return unit.calls.some(
    ({ name, targets }) =>
      name === 'clearTimeout' ||
      targets.some((target) => target.calls.some((one) => one.name === 'clearTimeout')),
  )
}

function describe(
  model: Model,
  timer: CallSite,
  release: CallSite,
  container: Location,
  dropper: FunctionUnit,
): Draft {
  const { name } = container
  const suspension = model
    .hostOf(release.owner.host)
    .suspensions.find(({ event }) => event.start === timer.start)?.event
  return {
    rule: 'H206',
    class: 'stale-reference',
    level: 'warning',
    message: `${timer.owner.namedAs} starts a timer that runs \`${textOf(release, 40)}\` on whatever is then in ${name}: ${dropper.namedAs} removes the entry and leaves the timer running`,
    locations: [container],
    check: timer,
    act: release,
    suspensions: suspension === undefined ? [] : [suspension],
    conflict: release,
    steps: [
      { task: 'A', text: `starts a timer: \`${textOf(timer)}\``, at: timer, isCheckpoint: true },
      { task: 'B', text: `${dropper.namedAs} removes the entry; the timer runs on`, at: timer },
      { task: 'B', text: 'enters a new one under the same key', at: timer },
      { task: 'A', text: `the timer hits the new one: \`${textOf(release)}\``, at: release },
    ],
    window: [1, 3],
    evidence: [
      `${dropper.namedAs} removes entries of ${name} without clearing a timer`,
      overlapOf(timer.owner)?.text ?? `${timer.owner.namedAs} runs for every entry`,
    ],
    fixes: [clearWithEntry(name, [2, 4]), identityCheck(name, [4, 4])],
  }
}

export const lateTimerPage: RulePage = {
  id: 'H206',
  name: 'late-timer',
  class: 'stale-reference',
  level: 'warning',
  summary:
    'A timer releases the entry that is registered under a key by then, not the one for which it was started.',
  what: `The callback of a timer closes, terminates or releases an entry of a shared container, which it looks
up by its key when it runs. Another function removes entries of that container and does not clear the timer.`,
  why: `The entry that the timer was started for has ended long ago. A new one has its key, and is ended for
no reason.`,
  race: source`
    const workers = new Map<string, Worker>()

    export function start(name: string): void {
      const worker = new Worker(name)
      workers.set(name, worker)
      worker.on('exit', () => {
        workers.delete(name)
      })
      setTimeout(() => {
        workers.get(name)?.terminate()
      }, 60_000)
    }
  `,
  steps: [
    ['A', 'start(x): starts the worker and the timer'],
    ['B', 'the worker exits, its entry is removed'],
    ['B', 'start(x): another worker under the same name'],
    ['A', 'the first timer fires and terminates the second worker'],
  ],
  window: [2, 4],
  fixed: source`
    const workers = new Map<string, Worker>()

    export function start(name: string): void {
      const worker = new Worker(name)
      workers.set(name, worker)
      const timer = setTimeout(() => {
        worker.terminate()
      }, 60_000)
      worker.on('exit', () => {
        clearTimeout(timer)
        workers.delete(name)
      })
    }
  `,
  fixes: [
    'Clear the timer where the entry is removed.',
    'Let the timer hold the object itself instead of its key.',
  ],
}
