/**
 * H104 re-entrancy: a location is checked, then listeners or a callback run *now*, then it is written.
 * These may call the same function and pass the same check.
 */
import type { Access } from '../ir/graph.ts'
import type { CallSite } from '../ir/program.ts'
import { isCopy } from '../ir/splice.ts'
import { isStore } from '../summaries/effects.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { recheck, reserveFirst } from './fixes.ts'
import { dependsOn } from './check-then-act.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

const emits = ['emit', 'dispatchEvent']

export function reentrantCallback(model: Model): Draft[] {
  const drafts: Draft[] = []
  const sites = emits.flatMap((name) => model.calls.named(name))
  for (const host of model.hostsOf(sites)) {
    if (host.unit.kind === 'constructor') continue
    for (const group of host.written) {
      if (!group.isSharedIn(host.unit) || group.location.scope === 'parameter') continue
      for (const read of group.accessesOfMany(host.unit)) {
        const draft = from(host, read)
        if (draft === undefined) continue
        drafts.push(draft)
        break
      }
    }
  }
  return drafts
}

/** Runs code of others before it returns. */
function runsOthers(site: CallSite): boolean {
  return emits.includes(site.name) && site.callbacks.length === 0 && !isCopy(site)
}

function from(host: Host, read: Located): Draft | undefined {
  const { access } = read
  if (access.op !== 'read' || access.checks.length === 0 || access.isInitial) return undefined
  const location = access.location.canonical
  let emitted: CallSite | undefined
  const answer = ask(host.graph, read, {
    states: 2,
    start: 0,
    step(event, state) {
      if (event.op === 'suspend') return stop
      if (event.op === 'call' && runsOthers(event)) {
        emitted = event
        return 1
      }
      if (event.op === 'read' && event.location.canonical === location && event.checks.length > 0)
        return state === 1 ? stop : state
      if (event.op !== 'write' || event.location.canonical !== location) return state
      return state === 1 && isStore(event) ? found : stop
    },
  })
  const write = answer?.event as Access | undefined
  const [check] = access.checks
  if (answer === undefined || write === undefined || emitted === undefined || check === undefined)
    return undefined
  if (check.isIdentity || !dependsOn(host.graph, check.branch, answer.block)) return undefined
  return {
    rule: 'H104',
    class: 'toctou',
    level: write.kind === 'rmw' ? 'warning' : 'note',
    message: `${host.unit.namedAs} checks ${location.name}, runs listeners, and only then writes it: a listener that calls ${host.unit.namedAs} passes the same check`,
    locations: [location],
    check: access,
    act: write,
    suspensions: [],
    conflict: emitted,
    steps: [
      { task: 'A', text: `checks \`${textOf(access)}\``, at: access },
      { task: 'A', text: `runs listeners: \`${textOf(emitted)}\``, at: emitted },
      { task: 'B', text: `a listener calls back and checks \`${textOf(access)}\` too`, at: access },
      { task: 'B', text: `writes ${location.name}`, at: write },
      {
        task: 'A',
        text: `resumes and writes ${location.name} again: \`${textOf(write)}\``,
        at: write,
      },
    ],
    window: [1, 4],
    evidence: [
      overlapOf(host.unit)?.text ?? 'listeners may call anything',
      'emit() runs its listeners before it returns',
    ],
    fixes: [reserveFirst(location.name, [2, 4]), recheck(location.name, [5, 5])],
  }
}

export const reentrantCallbackPage: RulePage = {
  id: 'H104',
  name: 'reentrant-callback',
  class: 'toctou',
  level: 'warning',
  summary:
    'Between a check and its act a callback runs, and it can call back into the same function at once.',
  what: `Shared state is checked, then an event is emitted or a callback is called, and then the
state is written, all without a suspension. emit(), dispatchEvent() and calling a callback run other
code now, not later.`,
  why: `A listener that calls back into the same object finds it half changed. No await is needed,
so readers do not look for a race here.`,
  race: source`
    import { EventEmitter } from 'node:events'

    export class Pool extends EventEmitter {
      #free = 3

      take(): boolean {
        if (this.#free === 0) return false
        this.emit('taken')
        this.#free = this.#free - 1
        return true
      }
    }
  `,
  steps: [
    ['A', 'take(): one place is free'],
    ['A', "emit('taken') calls a listener"],
    ['B', 'the listener calls take(): the same place is still free'],
    ['B', 'counts down to 0'],
    ['A', 'counts down to -1'],
  ],
  window: [2, 4],
  fixed: source`
    import { EventEmitter } from 'node:events'

    export class Pool extends EventEmitter {
      #free = 3

      take(): boolean {
        if (this.#free === 0) return false
        this.#free = this.#free - 1
        this.emit('taken')
        return true
      }
    }
  `,
  fixes: [
    'Change the state first, then notify.',
    'Notify later: queueMicrotask(() => this.emit(…)).',
    'Refuse calls that come in while one is under way.',
  ],
}
