/**
 * H310 race loser leaks: the call that makes a handle takes part in a `Promise.race`. When another one
 * wins, a time limit usually, the handle arrives later, and the only promise that led to it is gone.
 */
import type { CallSite } from '../ir/program.ts'
import type { Model } from './program-model.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { cancelLoser, closeLoser } from './fixes.ts'
import type { Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function raceLoserLeaks(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    for (const { event: suspension } of host.suspensions) {
      const { owner, start, end, joins } = suspension
      if (joins.length < 2) continue
      const { text } = owner.file.parsed
      const raced = /\bPromise\s*\.\s*race\s*\(\s*\[/.exec(
        text.slice(start, Math.min(end, start + 120)),
      )
      if (raced === null) continue
      const maker = joins.find(
        (site) => isWrittenIn(site, suspension) && isHandleMaker(model, host, site),
      )
      if (maker !== undefined) drafts.push(describe(host, maker, suspension))
    }
  }
  return drafts
}

/** The call is an element of the list, so nothing else has its promise. */
function isWrittenIn(
  site: CallSite,
  at: { readonly start: number; readonly end: number },
): boolean {
  return site.start > at.start && site.end < at.end
}

/** Whether it gets a time limit, so that it is the other side of the race. */
function isLimit({ args }: CallSite): boolean {
  return args.some(({ literal }) => literal === 'number')
}

/** Its result is released somewhere, or is stored where the program keeps handles. */
function isHandleMaker(model: Model, host: Host, site: CallSite): boolean {
  if (isLimit(site) || model.lifecycles.isRelease(site)) return false
  if (model.lifecycles.makesHandle(site)) return true
  return host.written.some(
    ({ location, accesses }) =>
      model.lifecycles.isHandle(location) &&
      accesses.some(({ access }) => access.op === 'write' && access.value?.calls?.includes(site)),
  )
}

function describe(host: Host, maker: CallSite, suspension: Draft['suspensions'][number]): Draft {
  const text = textOf(maker, 40)
  return {
    rule: 'H310',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${host.unit.namedAs} gives up on \`${text}\` when another promise wins: its result arrives later and is never released`,
    locations: [],
    check: suspension,
    act: maker,
    suspensions: [suspension],
    conflict: maker,
    steps: [
      {
        task: 'A',
        text: `starts \`${text}\` and waits for the first`,
        at: suspension,
        isCheckpoint: true,
      },
      { task: 'B', text: 'another promise of the race is first', at: suspension },
      { task: 'A', text: 'continues without the handle', at: suspension },
      { task: 'B', text: `\`${text}\` is through: nothing has its answer`, at: maker },
    ],
    window: [0, 3],
    evidence: [
      `what \`${text}\` makes is given back elsewhere`,
      overlapOf(host.unit)?.text ?? `${host.unit.namedAs} can be called`,
    ],
    fixes: [closeLoser(text, [4, 4]), cancelLoser(text, [3, 4])],
  }
}

export const raceLoserLeaksPage: RulePage = {
  id: 'H310',
  name: 'race-loser-leaks',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'A call that makes a handle loses a `Promise.race`, and its handle is never given back.',
  what: `A call is written directly in the list of a \`Promise.race\` that is awaited, and its
result is a handle: this program releases, somewhere, results of the same function. Nothing else has
its promise.`,
  why: `A race ends the waiting, not the work. After the time limit the connection is made all the same,
the transaction is begun, the file is open, and nothing in the program knows. Under load, when limits are
passed most, connections run out.`,
  race: source`
    export async function query(pool: Pool, sql: string) {
      const client = await Promise.race([connect(pool), timeLimit(1000)])
      try {
        return await client.query(sql)
      } finally {
        client.release()
      }
    }

    async function connect(pool: Pool) {
      return pool.acquire()
    }
  `,
  steps: [
    ['A', 'connect(pool) is on its way'],
    ['B', 'timeLimit rejects: query() throws'],
    ['A', 'connect(pool) resolves with a client'],
    ['A', 'the client is never released'],
  ],
  window: [1, 4],
  fixed: source`
    export async function query(pool: Pool, sql: string) {
      const connecting = connect(pool)
      let client
      try {
        client = await Promise.race([connecting, timeLimit(1000)])
      } catch (error) {
        connecting.then((late) => late.release(), () => {})
        throw error
      }
      try {
        return await client.query(sql)
      } finally {
        client.release()
      }
    }

    async function connect(pool: Pool) {
      return pool.acquire()
    }
  `,
  fixes: [
    'Keep the promise in a variable, and release its result when the race was lost.',
    'Hand the operation a signal that the time limit aborts.',
  ],
}
