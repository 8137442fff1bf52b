/**
 * H406 marked late: a function that ends something waits first and sets the mark that refuses new work
 * only afterwards. Work accepted during the wait is missed.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import { nextOf } from '../ir/splice.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { markFirst, whileNotEmpty } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState, isShared } from './shared.ts'
import { isCalledInTurn, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function markedLate(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!host.isWriting || !model.lifecycles.isTeardown(host.unit)) continue
    if (isCalledInTurn(host.unit)) continue
    for (const { location, accesses } of host.written) {
      if (!isComponentState(location)) continue
      if (!model.latches.isLatch(location)) continue
      const draft = from(model, host, location, accesses)
      if (draft !== undefined) drafts.push(draft)
    }
  }
  return drafts
}

function isMark({ op, value, isInitial }: Access): boolean {
  return op === 'write' && !isInitial && value?.literal === 'true'
}

function from(
  model: Model,
  host: Host,
  location: Location,
  accesses: readonly Located[],
): Draft | undefined {
  const marks = accesses.filter(({ access }) => isMark(access))
  const [mark] = marks
  if (mark === undefined || mark.access.owner.role === 'event') return undefined
  const isMarking = (event: unknown): boolean => marks.some(({ access }) => access === event)
  const way = overSuspension(
    host.graph,
    { block: host.graph.entry, index: -1 },
    (event) => event === mark.access,
    (event, isAfter) => !isAfter && isMarking(event),
  )
  if (way === undefined) return undefined
  const entrance = entranceOf(model, location, host)
  if (entrance === undefined) return undefined
  const guard = model.serial.guardOf(host.unit)
  if (guard !== undefined && guard === model.serial.guardOf(entrance.owner.host)) return undefined
  return describe(host, location, mark.access, way.suspensions, entrance)
}

/** A function that refuses when it finds the mark, and otherwise adds or makes something that lasts. */
function entranceOf(model: Model, location: Location, host: Host): Access | undefined {
  for (const unit of model.readers.of(location)) {
    if (unit === host.unit || unit.graph === undefined || overlapOf(unit) === undefined) continue
    if (model.lifecycles.isTeardown(unit)) continue
    const other = model.hostOf(unit)
    const check = other.checked
      .find((group) => group.location === location)
      ?.accesses.find(({ access }) =>
        access.checks.some(
          ({ whenPresent }) =>
            whenPresent !== undefined &&
            (whenPresent.isThrowing || nextOf(whenPresent).length === 0),
        ),
      )
    if (check === undefined) continue
    const isAdding = other.written.some(
      ({ location: one, accesses }) =>
        isShared(one, unit) &&
        accesses.some(
          ({ access }) =>
            access.op === 'write' &&
            (access.kind === 'fill' ||
              access.kind === 'append' ||
              (access.kind === 'set' && (one.scope === 'entry' || model.lifecycles.isHandle(one)))),
        ),
    )
    if (isAdding) return check.access
  }
  return undefined
}

function describe(
  host: Host,
  location: Location,
  mark: Access,
  suspensions: Draft['suspensions'],
  entrance: Access,
): Draft {
  const { name } = location
  const entering = entrance.owner.namedAs
  const suspension = suspensions[0]!
  return {
    rule: 'H406',
    class: 'missing-guard',
    level: 'warning',
    message: `${host.unit.namedAs} waits before it sets ${name}: ${entering} accepts new work in between, which is missed`,
    locations: [location],
    check: suspension,
    act: mark,
    suspensions,
    conflict: entrance,
    steps: [
      {
        task: 'A',
        text: `begins to end and waits: \`${textOf(suspension)}\``,
        at: suspension,
        isCheckpoint: true,
      },
      {
        task: 'B',
        text: `${entering} finds ${name} unset and begins: \`${textOf(entrance)}\``,
        at: entrance,
      },
      { task: 'A', text: `sets the mark: \`${textOf(mark)}\``, at: mark },
      { task: 'B', text: 'uses a resource that has been closed', at: entrance },
    ],
    window: [0, 2],
    evidence: [
      `${entering} refuses when ${name} is set`,
      overlapOf(host.unit)?.text ?? `${host.unit.namedAs} runs beside it`,
    ],
    fixes: [markFirst(name, [1, 3]), whileNotEmpty('what is open', [2, 4])],
  }
}

export const markedLatePage: RulePage = {
  id: 'H406',
  name: 'marked-late',
  class: 'missing-guard',
  level: 'warning',
  summary: 'A shutdown waits before it sets the mark that refuses new work.',
  what: `A function that gives back resources is suspended before it sets a flag, and another function checks
that flag to refuse new work. During the wait the flag is not set and new work is accepted.`,
  why: `The shutdown has already collected the work it has to wait for or close. Work accepted
afterwards loses its resources while it runs, or stays open for ever.`,
  race: source`
    export class Pool {
      #isClosed = false
      #sockets = new Map<string, Socket>()

      open(name: string): void {
        if (this.#isClosed) throw new Error('closed')
        this.#sockets.set(name, connect(name))
      }

      async close(): Promise<void> {
        for (const socket of this.#sockets.values()) await socket.end()
        this.#isClosed = true
      }
    }
  `,
  steps: [
    ['A', 'close(): ends the sockets that are there, suspended'],
    ['B', 'open(): not closed yet, so it connects'],
    ['A', 'sets the mark and is done'],
    ['B', 'its socket stays open'],
  ],
  window: [1, 3],
  fixed: source`
    export class Pool {
      #isClosed = false
      #sockets = new Map<string, Socket>()

      open(name: string): void {
        if (this.#isClosed) throw new Error('closed')
        this.#sockets.set(name, connect(name))
      }

      async close(): Promise<void> {
        this.#isClosed = true
        for (const socket of this.#sockets.values()) await socket.end()
      }
    }
  `,
  fixes: [
    'Set the mark before the first suspension.',
    'Repeat until nothing is left, and set the mark in the region that found nothing.',
  ],
}
