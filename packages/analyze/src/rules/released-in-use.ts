/**
 * H309 released in use: work on a resource is started and not waited for, and the resource is given back
 * in the same region.
 *
 * `try { return work(connection) } finally { connection.release() }` is the usual form: a `return`
 * without `await` leaves the `try` as soon as the work has begun. Another one is a file that is written,
 * used and removed under a name which every call shares.
 */
import type { Access, Block } from '../ir/graph.ts'
import type { CallSite } from '../ir/program.ts'
import { targetsOf } from '../summaries/call-order.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { awaitIt, keepPromise, uniqueName } from './fixes.ts'
import type { At, Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function releasedInUse(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    const draft = sharedFile(model, host)
    if (draft !== undefined) drafts.push(draft)
  }
  for (const unit of model.program.units) {
    if (unit.graph === undefined || !hasFinally(unit.graph.blocks)) continue
    const host = model.hostOf(unit)
    for (const call of host.linked) {
      const release = releasedAfter(model, host, call)
      if (release === undefined) continue
      drafts.push(describe(host, call.event, release))
      break
    }
  }
  return drafts
}

function hasFinally(blocks: readonly Block[]): boolean {
  return blocks.some((block) => block.cleanup === 2 && block.events.length > 0)
}

/** The call is under way, not awaited, and a `finally` releases its resource. */
function releasedAfter(model: Model, host: Host, call: At<CallSite>): CallSite | undefined {
  const { event: site, block } = call
  if (site.isAwaited || block.cleanup === 2 || !(site.isReturned || site.isFloating))
    return undefined
  if (!targetsOf(site).every((target) => model.summaries(target).suspends === 'always'))
    return undefined
  const used = wordsOf(site)
  const answer = ask(host.graph, call, {
    states: 1,
    start: 0,
    step(event, state, at) {
      // The wait of `return f()` itself comes after the `finally`.
      if (event.op === 'suspend')
        return event.joins.includes(site) && event.kind === 'call' ? 0 : stop
      if (event.op !== 'call' || at.cleanup !== 2) return state
      return model.lifecycles.isRelease(event) && isOn(event, used) ? found : state
    },
  })
  return answer?.event as CallSite | undefined
}

/** The names in the call: of the object and of the arguments. */
function wordsOf(site: CallSite): ReadonlySet<string> {
  return new Set(textOf(site, 200).match(/[\w$#]+/g))
}

/** The object that is given back is one of those names. */
function isOn(release: CallSite, used: ReadonlySet<string>): boolean {
  const text = textOf(release, 200)
  const object = /([\w$#]+)(?:\?\.|\.)[\w$]+\s*\(/.exec(text)?.[1]
  return object !== undefined && object !== 'this' && used.has(object)
}

// ---- a file whose name is the same in every call

const unique = /random|uuid|nanoid|mkdtemp|\bpid\b|threadId|now\(\)|hrtime|tmpName|\+\+/

/** Written, a suspension, and removed again, under a name that the next call has as well. */
function sharedFile(model: Model, host: Host): Draft | undefined {
  for (const { location, accesses } of host.groups) {
    if (location.scope !== 'external' || location.field !== 'file') continue
    const written = accesses.find(({ access }) => access.op === 'write' && access.kind === 'set')
    if (written === undefined) continue
    const way = overSuspension(
      host.graph,
      written,
      (event, block) =>
        event.op === 'write' &&
        event.location.canonical === location &&
        event.kind === 'drop' &&
        block.cleanup !== 1,
    )
    const drop = way?.event as Access | undefined
    if (way === undefined || drop === undefined) continue
    const { text } = host.unit.file.parsed
    if (unique.test(text.slice(host.unit.start, written.access.end))) continue
    if (overlapOf(host.unit) === undefined || model.serial.guardOf(host.unit) !== undefined)
      continue
    return describeFile(host, location.name, written.access, drop, way.suspensions)
  }
  return undefined
}

function describeFile(
  host: Host,
  name: string,
  written: Access,
  drop: Access,
  suspensions: Draft['suspensions'],
): Draft {
  return {
    rule: 'H309',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${host.unit.namedAs} writes ${name}, waits, and removes it: a call that overlaps has the same name, and finds it gone or half written`,
    locations: [written.location.canonical],
    check: written,
    act: drop,
    suspensions,
    conflict: drop,
    steps: [
      { task: 'A', text: `writes it: \`${textOf(written)}\``, at: written },
      { task: 'B', text: 'writes the same one', at: written },
      {
        task: 'B',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'A', text: `is done and removes it: \`${textOf(drop)}\``, at: drop },
      { task: 'B', text: 'uses a resource that is gone', at: suspensions[0]! },
    ],
    window: [0, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'it may run twice',
      'nothing in the name differs from call to call',
    ],
    fixes: [uniqueName(name, [2, 4]), keepPromise(textOf(written, 40), [1, 4])],
  }
}

function describe(host: Host, site: CallSite, release: CallSite): Draft {
  const text = textOf(site, 50)
  const at: Place = release
  return {
    rule: 'H309',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${site.owner.namedAs} starts \`${text}\` without waiting for it, and \`${textOf(release, 40)}\` runs while it is under way`,
    locations: [],
    check: site,
    act: at,
    suspensions: [],
    conflict: release,
    steps: [
      { task: 'A', text: `starts \`${text}\``, at: site },
      { task: 'B', text: 'the started work is suspended', at: site, isCheckpoint: true },
      { task: 'A', text: `leaves and gives back: \`${textOf(release)}\``, at },
      { task: 'B', text: 'resumes and uses the released resource', at: site },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'the callee waits',
      'nothing waits for the call before the `finally` runs',
    ],
    fixes: [awaitIt(text, [2, 4]), keepPromise(text, [2, 4])],
  }
}

export const releasedInUsePage: RulePage = {
  id: 'H309',
  name: 'released-in-use',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'A resource is given back while work on it that was not waited for is still under way.',
  what: `A call that suspends is returned or started without \`await\` inside of a \`try\`, and the \`finally\`
gives back an object that the call works on. Also reported: a file that is written, used across a
suspension and removed, under a name in which nothing differs from call to call.`,
  why: `The \`finally\` runs as soon as the work has begun. The connection is back in the pool, or closed,
and the work still uses it: it fails with unrelated errors, or reads answers that belong to another caller.`,
  race: source`
    async function work(connection: Connection): Promise<number> {
      await connection.query('begin')
      return connection.query('select 1')
    }

    export async function run(pool: Pool): Promise<number> {
      const connection = await pool.connect()
      try {
        return work(connection)
      } finally {
        connection.release()
      }
    }
  `,
  steps: [
    ['A', 'run(): starts work(connection)'],
    ['B', 'work(): suspended in the first query'],
    ['A', 'leaves the try: connection.release()'],
    ['B', 'resumes and sends its second query on a connection that belongs to another task'],
  ],
  window: [2, 4],
  fixed: source`
    async function work(connection: Connection): Promise<number> {
      await connection.query('begin')
      return connection.query('select 1')
    }

    export async function run(pool: Pool): Promise<number> {
      const connection = await pool.connect()
      try {
        return await work(connection)
      } finally {
        connection.release()
      }
    }
  `,
  fixes: [
    'Write `return await` inside of `try`.',
    'Give back in the continuation of the work itself.',
  ],
}
