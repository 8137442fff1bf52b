/**
 * H401 unguarded exchange: the stored value is sent, and the answer is stored in its place. Two
 * calls that overlap send the same old value. When it may be used only once (a refresh token, a
 * cursor, a nonce), the second one is refused and both lose.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import type { Value } from '../ir/values.ts'
import { targetsOf } from '../summaries/call-order.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, recheck, singleFlight } from './fixes.ts'
import { unguardedHandles } from './unguarded-handle.ts'
import type { At, Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isShared } from './shared.ts'
import { isIdentityCheck } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function unguardedWrite(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    for (const call of host.awaited) {
      const draft = exchange(model, host, call)
      if (draft === undefined) continue
      drafts.push(draft)
      break
    }
  }
  return [...drafts, ...unguardedHandles(model)]
}

function exchange(model: Model, host: Host, call: At<CallSite>): Draft | undefined {
  const { event: site } = call
  for (const arg of site.args) {
    for (const read of arg.reads ?? []) {
      if (read.op !== 'read' || read.location.canonical.scope === 'parameter') continue
      const location = outermost(read.location.canonical)
      if (!isShared(location, host.unit) || location.scope === 'external') continue
      const answer = storedAfter(model, host, call, location)
      if (answer === undefined) continue
      if (site.targets.some((target) => model.isSingleFlight(target))) return undefined
      const located = host.accessesOf(read.location.canonical).find((one) => one.access === read)
      if (located !== undefined && isGuarded(model, host, located, answer)) continue
      return describe(model, host, location, read, site, answer)
    }
  }
  return undefined
}

/** `this.session` of `this.session.refreshToken`: the outermost location is replaced. */
function outermost(location: Location): Location {
  let at = location
  while (at.parent !== undefined && at.parent.depth > 0) at = at.parent.canonical
  return at
}

interface Stored {
  readonly write: Access
  readonly suspension: Draft['suspensions'][number]
  readonly suspensions: Draft['suspensions']
}

/** The result of the call is stored where its argument came from, and no code looks again before. */
function storedAfter(
  model: Model,
  host: Host,
  call: At<CallSite>,
  location: Location,
): Stored | undefined {
  let write: Access | undefined
  const answer = ask(host.graph, call, {
    states: 2,
    start: 0,
    step(event, state) {
      if (event.op === 'suspend') return event.joins.includes(call.event) || state === 1 ? 1 : state
      if (state === 0) return state
      if (isIdentityCheck(event)) return stop
      if (
        event.op === 'read' &&
        event.checks.length > 0 &&
        outermost(event.location.canonical) === location
      )
        return stop
      if (
        event.op === 'write' &&
        outermost(event.location.canonical) === location &&
        isStore(event)
      ) {
        if (!comesFrom(event, call.event)) return state
        write = event
        return found
      }
      if (event.op === 'call' && event.args.some((arg) => isFrom(arg, call.event))) {
        for (const target of targetsOf(event)) {
          const stored = model.summaries(target).before.get(location)?.store
          if (stored === undefined) continue
          write = stored.access
          return found
        }
      }
      return state
    },
  })
  const suspension = answer?.suspensions[0]
  if (answer === undefined || write === undefined || suspension === undefined) return undefined
  return { write, suspension, suspensions: answer.suspensions }
}

function comesFrom(write: Access, site: CallSite): boolean {
  return write.value !== undefined && isFrom(write.value, site)
}

function isFrom(value: Value, site: CallSite): boolean {
  return value.calls?.includes(site) === true || value.from?.includes(site) === true
}

function isGuarded(model: Model, host: Host, read: Located, stored: Stored): boolean {
  const end = { block: read.block, event: stored.suspension }
  return model.guardOver(host.unit, stored.suspension, read, end) !== undefined
}

function describe(
  model: Model,
  host: Host,
  location: Location,
  read: Access,
  site: CallSite,
  stored: Stored,
): Draft {
  const name = location.name
  const overlap = overlapOf(host.unit)
  return {
    rule: 'H401',
    class: 'missing-guard',
    level: overlap === undefined || !model.remoteWork.changesSomething(site) ? 'note' : 'warning',
    message: `${host.unit.namedAs} sends ${read.location.name} with \`${textOf(site, 40)}\` and stores the answer in its place, unguarded: two calls that overlap send the same one`,
    locations: [location],
    check: site,
    act: stored.write.owner.host === host.unit ? stored.write : stored.suspension,
    suspensions: stored.suspensions,
    conflict: stored.write,
    steps: [
      { task: 'A', text: `reads ${read.location.name}: \`${textOf(read)}\``, at: read },
      {
        task: 'A',
        text: `sends it and waits: \`${textOf(site)}\``,
        at: stored.suspension,
        isCheckpoint: true,
      },
      { task: 'B', text: `reads the same ${read.location.name}`, at: read },
      {
        task: 'B',
        text: 'sends it as well: it has been used already',
        at: site,
        isCheckpoint: true,
      },
      { task: 'A', text: `stores the answer: \`${textOf(stored.write)}\``, at: stored.write },
      { task: 'B', text: `stores its own, or an error, over it`, at: stored.write },
    ],
    window: [0, 4],
    evidence: [
      overlap === undefined
        ? 'it runs at start-up only'
        : `may overlap with itself: ${overlap.text}`,
      `${name} is read by other functions and has no guard`,
    ],
    fixes: [
      singleFlight(name, textOf(site, 40), [2, 4]),
      mutex(name, [1, 6]),
      recheck(name, [5, 6]),
    ],
  }
}

export const unguardedWritePage: RulePage = {
  id: 'H401',
  name: 'unguarded-write',
  class: 'missing-guard',
  level: 'warning',
  summary: 'Shared state that several callers change after a suspension has no guard anywhere.',
  what: `A function that can overlap itself writes a shared location after a suspension; other functions read
it; nothing guards it. Reported where the state has several fields, is a counter, or is a credential that
can be used once.`,
  why: `The last answer to arrive wins, in an order that the network decides. With rotating tokens the
loser has just revoked the token of the winner, and the user is logged out.`,
  race: source`
    export class Auth {
      #refreshToken = 'initial'
      #accessToken = ''

      async refresh(): Promise<void> {
        const tokens = await exchange(this.#refreshToken)
        this.#refreshToken = tokens.refresh
        this.#accessToken = tokens.access
      }

      get header(): string {
        return 'Bearer ' + this.#accessToken
      }
    }
  `,
  steps: [
    ['A', 'refresh(): sends the refresh token'],
    ['A', 'await exchange(): suspended'],
    ['B', 'refresh(): sends the same refresh token, which is used up by now'],
    ['A', 'stores new tokens'],
    ['B', 'is refused: the session is lost'],
  ],
  window: [2, 4],
  fixed: source`
    export class Auth {
      #refreshToken = 'initial'
      #accessToken = ''
      #refreshing: Promise<void> | undefined

      refresh(): Promise<void> {
        this.#refreshing ??= this.#exchange().finally(() => (this.#refreshing = undefined))
        return this.#refreshing
      }

      async #exchange(): Promise<void> {
        const tokens = await exchange(this.#refreshToken)
        this.#refreshToken = tokens.refresh
        this.#accessToken = tokens.access
      }

      get header(): string {
        return 'Bearer ' + this.#accessToken
      }
    }
  `,
  fixes: [
    'Share one running operation between all callers (single flight).',
    'Hold a mutex over the exchange.',
    'Run it in a queue of concurrency 1.',
  ],
}
