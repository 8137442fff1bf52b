/**
 * H203 early completion: while one call is under way, a second one returns at once as if it were done.
 * Its caller continues and reads state that the first call has not written yet.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import { ownerIn } from '../ir/splice.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { keepPromise, singleFlight } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { inSameRegion, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function earlyCompletion(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    for (const { location: flag, accesses } of host.written) {
      const draft = from(model, host, flag, accesses)
      if (draft === undefined) continue
      drafts.push(draft)
      break
    }
  }
  return drafts
}

function from(
  model: Model,
  host: Host,
  flag: Location,
  accesses: readonly Located[],
): Draft | undefined {
  const set = accesses.find(
    ({ access }) => access.op === 'write' && access.value?.literal === 'true' && !access.isInitial,
  )
  if (set === undefined) return undefined
  const isCleared = accesses.some(({ access }) => access.op === 'write' && access.kind === 'null')
  for (const check of accesses) {
    if (check.access.op !== 'read' || ownerIn(check.access) !== host.unit) continue
    const one = check.access.checks.find((candidate) => candidate.whenPresent !== undefined)
    if (one?.whenPresent === undefined || one.branch.isLoop) continue
    if (!endsWithoutWaiting(host, one.whenPresent)) continue
    if (inSameRegion(host.graph, check, (event) => event === set.access) === undefined) continue
    const trust = trustingCaller(model, host, isCleared)
    if (trust !== undefined) return describe(host, flag, check.access, trust)
  }
  return undefined
}

/** From here the function ends without a suspension and without calling anything of weight. */
function endsWithoutWaiting(host: Host, block: Located['block']): boolean {
  if (
    block.next.length > 0 ||
    block.events.some((event) => event.op === 'suspend' || event.op === 'call')
  ) {
    const waits = ask(
      host.graph,
      { block, index: -1 },
      {
        states: 1,
        start: 0,
        step: (event) =>
          event.op === 'suspend' || event.op === 'write' ? found : event.op === 'call' ? 0 : 0,
      },
    )
    return waits === undefined
  }
  return true
}

interface Trust {
  readonly site: CallSite
  readonly read: Access
  readonly location: Location
}

/**
 * A caller that awaits it and then reads state that it writes after its suspension, or stores state that it will then
 * release.
 *
 * @param isAgain The flag is cleared at the end, so the work is done again and again.
 */
function trustingCaller(model: Model, host: Host, isAgain: boolean): Trust | undefined {
  const written = model.summaries(host.unit).after
  const released = new Set(lateReleases(model, host))
  for (const site of host.unit.callers) {
    const { graph } = site.owner.host
    if (graph === undefined || site.owner.host === host.unit) continue
    for (const block of graph.blocks) {
      const index = block.events.indexOf(site)
      if (index === -1) continue
      const answer = ask(
        graph,
        { block, index },
        {
          states: 2,
          start: 0,
          step(event, state) {
            if (event.op === 'suspend')
              return state === 1 ? stop : event.joins.includes(site) ? 1 : stop
            if (state === 0) return state
            if (event.op === 'write')
              return isStore(event) && released.has(event.location.canonical) ? found : state
            if (event.op !== 'read' || event.checks.length > 0 || !isAgain) return state
            const effects = written.get(event.location.canonical)
            return effects?.store !== undefined && !effects.store.access.isInitial ? found : state
          },
        },
      )
      const read = answer?.event as Access | undefined
      if (read !== undefined) return { site, read, location: read.location.canonical }
    }
  }
  return undefined
}

/** The handles that a host releases after its first suspension. */
function lateReleases(model: Model, host: Host): readonly Location[] {
  const locations = model.lifecycles.releasedIn(host.unit)
  if (locations.length === 0) return locations
  return locations.filter((location) =>
    model.lifecycles
      .releasesOf(location)
      .some(
        (site) =>
          site.owner.host === host.unit &&
          overSuspension(
            host.graph,
            { block: host.graph.entry, index: -1 },
            (event) => event === site,
          ) !== undefined,
      ),
  )
}

function describe(host: Host, flag: Location, check: Access, trust: Trust): Draft {
  const suspension = host.unit.suspensions[0]
  const [verb, tooEarly] =
    trust.read.op === 'read'
      ? ['reads', 'before it is there']
      : ['stores', 'before the old one has been given back']
  return {
    rule: 'H203',
    class: 'stale-reference',
    level: 'warning',
    message: `${host.unit.namedAs} returns at once while another call is under way; ${trust.site.owner.namedAs} then ${verb} ${trust.location.name} ${tooEarly}`,
    locations: [flag, trust.location],
    check,
    act: trust.read,
    reportIn: host.unit,
    suspensions: suspension === undefined ? [] : [suspension],
    conflict: trust.read,
    steps: [
      { task: 'A', text: `takes ${flag.name} and starts to work`, at: check },
      { task: 'A', text: 'waits', at: suspension ?? check, isCheckpoint: true },
      {
        task: 'B',
        text: `\`${textOf(trust.site)}\`: ${flag.name} is taken, so it returns at once`,
        at: check,
      },
      {
        task: 'B',
        text: `${verb} ${trust.location.name} ${tooEarly}`,
        at: trust.read,
      },
      {
        task: 'A',
        text: `resumes and ${trust.read.op === 'read' ? 'writes' : 'gives back'} ${trust.location.name}`,
        at: suspension ?? check,
      },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'it has several callers',
      `${trust.site.owner.namedAs} waits for it and then ${verb} ${trust.location.name}`,
    ],
    fixes: [
      singleFlight(trust.location.name, 'this.work()', [3, 4]),
      keepPromise(textOf(trust.site), [3, 4]),
    ],
  }
}

export const earlyCompletionPage: RulePage = {
  id: 'H203',
  name: 'early-completion',
  class: 'stale-reference',
  level: 'warning',
  summary: 'A second caller gets the answer that it is done while the first one is still working.',
  what: `A branch on an in-flight flag returns, resolves or calls back at once, although the operation
that set the flag has not ended.`,
  why: `The second caller continues as if the work were done: it reads a cache that is not loaded, or
closes a file that is still being flushed.`,
  race: source`
    export class Index {
      #isLoading = false
      #entries: string[] = []

      async load(): Promise<void> {
        if (this.#isLoading) return
        this.#isLoading = true
        try {
          this.#entries = await readEntries()
        } finally {
          this.#isLoading = false
        }
      }

      async has(name: string): Promise<boolean> {
        await this.load()
        return this.#entries.includes(name)
      }
    }
  `,
  steps: [
    ['A', 'load(): sets the flag'],
    ['A', 'await readEntries(): suspended'],
    ['B', 'has(): load() returns at once, the flag is set'],
    ['B', 'finds an empty list: false'],
    ['A', 'the entries arrive'],
  ],
  window: [2, 5],
  fixed: source`
    export class Index {
      #loading: Promise<string[]> | undefined

      load(): Promise<string[]> {
        this.#loading ??= readEntries()
        return this.#loading
      }

      async has(name: string): Promise<boolean> {
        const entries = await this.load()
        return entries.includes(name)
      }
    }
  `,
  fixes: [
    'Keep the promise of the running operation, and return it to every caller.',
    'Refuse the second caller with an error that says so.',
  ],
}
