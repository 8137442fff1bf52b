/**
 * H312 opened after close: a handle is stored after a suspension, and close() releases the stored
 * handle. A close() during the suspension finds nothing, and the handle is opened after it.
 *
 * Only where close() is content with nothing: it looks first, or calls with `?.`.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, Suspension } from '../ir/program.ts'
import { isMade, isTimer } from '../meaning/lifecycle.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { closedCheck, keepOpening } from './fixes.ts'
import type { Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import type { ChangesBy } from './changes-by.ts'
import { inSameRegion, isIdentityCheck } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function openedAfterClose(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!host.isWriting || host.unit.kind === 'constructor') continue
    if (overlapOf(host.unit) === undefined || model.lifecycles.isTeardown(host.unit)) continue
    const draft = inHost(model, host)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

function inHost(model: Model, host: Host): Draft | undefined {
  for (const { location, accesses } of host.written) {
    if (!isComponentState(location) || location.scope === 'parameter') continue
    const release = closingOf(model, host, location)
    if (release === undefined) continue
    const changes = model.changesBy(release.owner)
    for (const { access } of accesses) {
      if (access.op !== 'write' || access.kind !== 'set' || access.isInitial) continue
      if (!isMade(access) || isTimer(access.value)) continue
      const suspensions = waitedBefore(host, access, changes)
      const last = suspensions?.at(-1)
      if (suspensions === undefined || last === undefined || isCancellable(host, last)) continue
      if (model.serial.guardOf(host.unit) !== undefined) continue
      return describe(host, access, last, suspensions, release)
    }
  }
  return undefined
}

/** Another function releases the stored handle, at once and only if there is one. */
function closingOf(model: Model, host: Host, location: Location): CallSite | undefined {
  return model.lifecycles.releasesOf(location).find((site) => {
    const { owner } = site
    const closer = owner.host
    if (closer === host.unit || closer.graph === undefined) return false
    if (owner !== closer || overlapOf(closer) === undefined) return false
    const { text } = owner.file.parsed
    const isTolerant =
      /\?\.\s*[\w$#]+\s*\(?$|\?\.[\w$#]+\(/.test(text.slice(site.start, site.end)) ||
      model
        .hostOf(closer)
        .accessesOf(location)
        .some(({ access }) => access.op === 'read' && access.checks.length > 0)
    if (!isTolerant) return false
    const isAtOnce = inSameRegion(
      closer.graph,
      { block: closer.graph.entry, index: -1 },
      (event) => event === site,
    )
    return isAtOnce !== undefined
  })
}

/** The suspensions before the store, when no check after the last of them sees the closing. */
function waitedBefore(
  host: Host,
  store: Access,
  changes: ChangesBy,
): readonly Suspension[] | undefined {
  const answer = ask(
    host.graph,
    { block: host.graph.entry, index: -1 },
    {
      states: 2,
      start: 0,
      step(event: Event, state: number) {
        if (event === store) return state === 1 ? found : stop
        if (event.op === 'suspend') return event.kind === 'await' ? 1 : stop
        if (state === 0) return 0
        if (event.op === 'call' && event.name === 'throwIfAborted') return stop
        return isIdentityCheck(event) || changes.isCheckedBy(event) ? stop : 1
      },
    },
  )
  return answer?.suspensions
}

/** It was given a signal that was not made here: the closing function may end it. */
function isCancellable(host: Host, { owner, start, end }: Suspension): boolean {
  const { text } = owner.file.parsed
  return (
    /\b(?:signal|abort\w*)\b/i.test(text.slice(start, end)) &&
    !/new AbortController\(|AbortSignal\.timeout\(/.test(text.slice(host.unit.start, start))
  )
}

function describe(
  host: Host,
  store: Access,
  suspension: Suspension,
  suspensions: readonly Suspension[],
  release: CallSite,
): Draft {
  const { name } = store.location.canonical
  const closer = release.owner.namedAs
  return {
    rule: 'H312',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${host.unit.namedAs} stores ${name} after a suspension without checking whether ${closer} has run: then nothing will release it`,
    locations: [store.location.canonical],
    check: suspension,
    act: store,
    suspensions,
    conflict: release,
    steps: [
      { task: 'A', text: `waits: \`${textOf(suspension)}\``, at: suspension, isCheckpoint: true },
      {
        task: 'B',
        text: `${closer} finds nothing to give back: \`${textOf(release)}\``,
        at: release,
      },
      { task: 'A', text: `stores an open handle: \`${textOf(store)}\``, at: store },
    ],
    window: [0, 2],
    evidence: [
      `${closer} gives ${name} back, and is content when there is nothing`,
      overlapOf(host.unit)!.text,
    ],
    fixes: [closedCheck(name, [3, 3]), keepOpening(name, [1, 3])],
  }
}

export const openedAfterClosePage: RulePage = {
  id: 'H312',
  name: 'opened-after-close',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'A handle is stored after a suspension in which close() has found nothing to close.',
  what: `A function opens something, waits, and stores it in a field. close() releases the value of the field,
and does nothing when it is still empty.`,
  why: `A close() during the opening reports success, and then the connection opens: the process does not
end, and nothing has the handle that could close it.`,
  race: source`
    export class Client {
      #socket: Socket | undefined

      async connect(): Promise<void> {
        const socket = await openSocket()
        this.#socket = socket
      }

      close(): void {
        this.#socket?.destroy()
      }
    }
  `,
  steps: [
    ['A', 'await openSocket(): suspended'],
    ['B', 'close(): there is no socket'],
    ['A', 'the socket is stored, open'],
  ],
  window: [1, 3],
  fixed: source`
    export class Client {
      #socket: Socket | undefined
      #isClosed = false

      async connect(): Promise<void> {
        const socket = await openSocket()
        if (this.#isClosed) return socket.destroy()
        this.#socket = socket
      }

      close(): void {
        this.#isClosed = true
        this.#socket?.destroy()
      }
    }
  `,
  fixes: [
    'After the suspension check whether close() has run, and release the handle.',
    'Keep the promise of the opening, and let close() wait for it.',
  ],
}
