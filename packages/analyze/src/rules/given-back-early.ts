/**
 * H313 given back early: something is put into the list from which others take it, and only then it is
 * made ready for them, over a suspension. Who takes it meanwhile uses it together with the one that
 * is still busy with it.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { giveBackLast, keepOut } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { perLocation } from './per-location.ts'
import { isComponentState } from './shared.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function givenBackEarly(model: Model): Draft[] {
  return perLocation(
    model,
    (host) => host.written,
    ({ location }, { unit }) => isComponentState(location) && unit.kind !== 'constructor',
    (host, location, accesses) => {
      for (const entry of accesses) {
        const draft =
          entry.access.kind === 'append' && !entry.access.isInitial
            ? from(model, host, location, entry)
            : undefined
        if (draft !== undefined) return draft
      }
      return undefined
    },
  )
}

/** What was handed to the function: it is neither made here nor a part of something else. */
function givenIn({ value }: Access): Location | undefined {
  const given = value?.location
  return given?.scope === 'parameter' && given.depth === 0 ? given : undefined
}

function from(model: Model, host: Host, list: Location, entry: Located): Draft | undefined {
  const given = givenIn(entry.access)
  if (given === undefined) return undefined
  const way = ask(host.graph, entry, {
    states: 1,
    start: 0,
    step(event) {
      if (event.op === 'suspend') return useIn(event.joins, given) === undefined ? 0 : found
      const isTakenOut =
        event.op === 'write' && event.location.canonical === list && event.kind === 'drop'
      return isTakenOut ? stop : 0
    },
  })
  const wait = way?.event
  if (wait?.op !== 'suspend') return undefined
  const use = useIn(wait.joins, given)!
  if (use.start < entry.access.start || use.owner.host !== host.unit) return undefined
  const taker = takerOf(model, host, list)
  return taker && describe(host, list, entry.access, use, wait, taker)
}

/** A call on the thing itself, which is waited for. */
function useIn(joins: readonly CallSite[], given: Location): CallSite | undefined {
  return joins.find(({ receiver }) => receiver === given)
}

/** A function that takes one element out to use it, and not to give it back for good. */
function takerOf(model: Model, host: Host, list: Location): CallSite | undefined {
  for (const unit of model.summaries.uses.hostsOf(list)) {
    if (unit === host.unit || overlapOf(unit) === undefined || model.lifecycles.isTeardown(unit))
      continue
    const take = model
      .hostOf(unit)
      .calls.find(
        ({ event }) =>
          (event.name === 'shift' || event.name === 'pop') && event.receiver?.canonical === list,
      )
    if (take !== undefined) return take.event
  }
  return undefined
}

function describe(
  host: Host,
  list: Location,
  entry: Access,
  use: CallSite,
  wait: Draft['suspensions'][number],
  taker: CallSite,
): Draft {
  const { name } = list
  const by = taker.owner.namedAs
  return {
    rule: 'H313',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${host.unit.namedAs} puts it into ${name} and then waits for ${use.name}: ${by} may take it meanwhile`,
    locations: [list],
    check: entry,
    act: use,
    suspensions: [wait],
    conflict: taker,
    steps: [
      { task: 'A', text: `puts it into ${name}: \`${textOf(entry)}\``, at: entry },
      { task: 'A', text: `goes on with it: \`${textOf(use)}\``, at: wait, isCheckpoint: true },
      { task: 'B', text: `${by} takes it and uses it: \`${textOf(taker)}\``, at: taker },
    ],
    window: [0, 2],
    evidence: [
      `${by} takes elements out of ${name}`,
      overlapOf(taker.owner.host)?.text ?? `${by} can be called`,
    ],
    fixes: [giveBackLast(name, [1, 3]), keepOut(name, [2, 3])],
  }
}

export const givenBackEarlyPage: RulePage = {
  id: 'H313',
  name: 'given-back-early',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'Something is put where others take it before the work on it has ended.',
  what: `A function is handed something (a connection, a worker, a buffer), puts it into a shared list, and
then waits for work on it. Another function takes elements out of that list to use them.`,
  why: `Who takes it during the wait uses it at the same time: a connection is reset in the middle of a
query, a worker gets a task before it has ended the last one.`,
  race: source`
    export class Pool {
      #idle: Connection[] = []

      async acquire(): Promise<Connection> {
        return this.#idle.pop() ?? (await open())
      }

      async release(connection: Connection): Promise<void> {
        this.#idle.push(connection)
        await connection.reset()
      }
    }
  `,
  steps: [
    ['A', 'release(): the connection is in #idle'],
    ['A', 'reset() is on its way, suspended'],
    ['B', 'acquire(): takes the connection and sends a query'],
    ['A', 'reset() ends the query'],
  ],
  window: [1, 3],
  fixed: source`
    export class Pool {
      #idle: Connection[] = []

      async acquire(): Promise<Connection> {
        return this.#idle.pop() ?? (await open())
      }

      async release(connection: Connection): Promise<void> {
        await connection.reset()
        this.#idle.push(connection)
      }
    }
  `,
  fixes: [
    'Put it into the list when the work on it has ended.',
    'Keep it in a list of its own while the work runs.',
  ],
}
