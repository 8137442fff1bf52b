/**
 * H209 event of the old one: a listener on a handle changes the state of its component, without looking
 * whether the handle is still the one that the component uses. When the component has replaced the
 * handle, the end of the old one comes later and is taken for the end of the new one.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { isMade } from '../meaning/lifecycle.ts'
import { isStore } from '../summaries/effects.ts'
import { targetsOf } from '../summaries/call-order.ts'
import { ask, found } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { identityCheck, removeListener } from './fixes.ts'
import type { At } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isOfEnd, listenedTo, removesListeners } from './restarted-after-stop.ts'
import { baseOf, isIdentityCheck, isWithin } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function oldHandleEvent(model: Model): Draft[] {
  const drafts: Draft[] = []
  const seen = new Set<Location>()
  for (const site of model.calls.triggers) {
    const use = site.callbacks.find(({ role }) => role === 'event')
    if (use === undefined || site.owner.host.graph === undefined || !isOfEnd(site)) continue
    const location = listenedTo(model, site)
    if (location === undefined || seen.has(location)) continue
    if (!isMadeIn(model, site.owner.host, location)) continue
    const draft = from(model, site, use.unit, location)
    if (draft === undefined) continue
    seen.add(location)
    drafts.push(draft)
  }
  return drafts
}

/** The function that adds the listener also makes and stores the handle. */
function isMadeIn(model: Model, unit: FunctionUnit, location: Location): boolean {
  return model
    .hostOf(unit)
    .accessesOf(location)
    .some(({ access }) => access.op === 'write' && access.kind === 'set' && isMade(access))
}

function from(
  model: Model,
  site: CallSite,
  listener: FunctionUnit,
  location: Location,
): Draft | undefined {
  const change = changeIn(model, listener, location)
  if (change === undefined) return undefined
  const replace = replacementOf(model, site.owner.host, listener, location)
  if (replace === undefined || isLooking(model, listener, replace.release.owner)) return undefined
  return describe(site, change, location, replace)
}

function eventsIn(listener: FunctionUnit): readonly Event[] {
  return listener.host.graph!.blocks.flatMap(({ events }) =>
    events.filter((event) => isWithin(event.owner, listener)),
  )
}

/** The listener checks which handle it is about, or a state that the replacement changes. */
function isLooking(model: Model, listener: FunctionUnit, by: FunctionUnit): boolean {
  const changes = model.changesBy(by)
  const isAsking = (event: Event): boolean => isIdentityCheck(event) || changes.isCheckedBy(event)
  if (eventsIn(listener).some(isAsking)) return true
  return listener.calls.some((call) =>
    call.targets.some((target) =>
      target.host.graph?.blocks.some(({ events }) => events.some(isIdentityCheck)),
    ),
  )
}

/** The state of the component that the listener empties or sets to false, itself or by a call. */
function changeIn(model: Model, listener: FunctionUnit, location: Location): Access | undefined {
  const isChange = (access: Access): boolean =>
    access.op === 'write' &&
    !access.isInitial &&
    access.kind === 'null' &&
    baseOf(access.location.canonical) === baseOf(location)
  for (const event of eventsIn(listener)) {
    if (event.op === 'write' && isChange(event)) return event
    if (event.op !== 'call') continue
    for (const target of targetsOf(event))
      for (const { clear } of model.summaries(target).before.effects)
        if (clear !== undefined && clear.distance < 2 && isChange(clear.access)) return clear.access
  }
  return undefined
}

interface Replacement {
  readonly release: CallSite
  readonly restart: CallSite
}

/** A function that gives the handle back and then has a new one made, in one go. */
function replacementOf(
  model: Model,
  maker: FunctionUnit,
  listener: FunctionUnit,
  location: Location,
): Replacement | undefined {
  for (const release of model.lifecycles.releasesOf(location)) {
    const { host } = release.owner
    if (host.graph === undefined || isWithin(release.owner, listener)) continue
    if (removesListeners(host) || overlapOf(host) === undefined) continue
    const at: At<CallSite> | undefined = model
      .hostOf(host)
      .calls.find(({ event }) => event === release)
    if (at === undefined) continue
    const answer = ask(host.graph, at, {
      states: 1,
      start: 0,
      step: (event) => (isRestart(event, maker, location) ? found : 0),
    })
    const restart = answer?.event
    // When the release was waited for, the old one has ended before.
    if (restart?.op === 'call' && !answer!.suspensions.some(({ joins }) => joins.includes(release)))
      return { release, restart }
  }
  return undefined
}

function isRestart(event: Event, maker: FunctionUnit, location: Location): boolean {
  if (event.op === 'call') return event.targets.some((target) => target.host === maker)
  return (
    event.op === 'write' &&
    event.owner.host === maker &&
    event.location.canonical === location &&
    isStore(event)
  )
}

function describe(
  site: CallSite,
  change: Access,
  location: Location,
  { release, restart }: Replacement,
): Draft {
  const { name } = location
  const by = release.owner.namedAs
  return {
    rule: 'H209',
    class: 'stale-reference',
    level: 'warning',
    message: `the listener in ${site.owner.namedAs} changes ${change.location.name} when ${name} ends, without looking which one has ended: ${by} replaces it, and the end of the old one hits the new one`,
    locations: [location],
    check: site,
    act: change,
    reportIn: site.owner,
    suspensions: [],
    conflict: release,
    steps: [
      { task: 'A', text: `${by} gives the old one back: \`${textOf(release)}\``, at: release },
      { task: 'A', text: `and makes a new one: \`${textOf(restart)}\``, at: restart },
      { task: 'B', text: 'the old one has ended: its listener is called', at: site },
      {
        task: 'B',
        text: `changes state that now belongs to the new one: \`${textOf(change)}\``,
        at: change,
      },
    ],
    window: [1, 3],
    evidence: [
      `${by} does not remove the listener`,
      overlapOf(release.owner)?.text ?? `${by} can be called`,
    ],
    fixes: [identityCheck(name, [3, 4]), removeListener(by, [3, 4])],
  }
}

export const oldHandleEventPage: RulePage = {
  id: 'H209',
  name: 'old-handle-event',
  class: 'stale-reference',
  level: 'warning',
  summary: 'A listener of a handle that was replaced changes the state of its successor.',
  what: `A function makes a handle, stores it and adds a listener for its end, which empties or resets state
of the component without looking which handle has ended. Another function gives the handle back and has a
new one made at once, and does not remove the listener.`,
  why: `The end of a connection is reported later, when the new connection is stored already. The listener
of the old one sets "connected" to false or drops the new connection: the component is connected and says
that it is not, and often reconnects once more.`,
  race: source`
    export class Client {
      #socket: Socket | undefined

      connect(): void {
        const socket = dial()
        this.#socket = socket
        socket.on('close', () => {
          this.#socket = undefined
        })
      }

      reconnect(): void {
        this.#socket?.destroy()
        this.connect()
      }
    }
  `,
  steps: [
    ['A', 'reconnect(): destroys the old socket'],
    ['A', 'connect(): stores the new one'],
    ['B', "'close' of the old socket: #socket = undefined"],
    ['B', 'the new socket is lost, and stays open'],
  ],
  window: [2, 4],
  fixed: source`
    export class Client {
      #socket: Socket | undefined

      connect(): void {
        const socket = dial()
        this.#socket = socket
        socket.on('close', () => {
          if (this.#socket === socket) this.#socket = undefined
        })
      }

      reconnect(): void {
        this.#socket?.destroy()
        this.connect()
      }
    }
  `,
  fixes: [
    'Compare the handle of the listener with the one that is stored, and leave when it is another.',
    'Remove the listeners of the old handle before it is given back.',
  ],
}
