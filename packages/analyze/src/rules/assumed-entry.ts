/**
 * H204 assumed entry: a handler takes an entry of a shared container for granted (`get(id)!`), while
 * another handler removes entries.
 */
import type { Access } from '../ir/graph.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, recheck } from './fixes.ts'
import type { Located } from './host.ts'
import type { Model } from './program-model.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function assumedEntry(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.asserting) {
    for (const { location, accesses } of host.groups) {
      if (location.scope !== 'entry' || location.entryKey === undefined) continue
      const assumed = accesses.find((one) => isAssumed(one))
      if (assumed === undefined) continue
      const checked = accesses.some(
        (one) => one.access.owner === assumed.access.owner && one.access.checks.length > 0,
      )
      const drop = checked ? undefined : dropOf(model, assumed)
      if (drop !== undefined) drafts.push(describe(assumed.access, drop))
    }
  }
  return drafts
}

/** Written with `!`, in a function that runs when something happens. */
function isAssumed({ access }: Located): boolean {
  if (access.op !== 'read' || !access.isAsserted) return false
  const { reach } = access.owner
  return reach.has('event') || reach.has('request')
}

/** Other code that runs when something happens and removes entries. */
function dropOf(model: Model, assumed: Located): Access | undefined {
  const container = assumed.access.location.canonical.parent?.canonical
  return model
    .writesOfField(assumed.access.location.field)
    .find(
      ({ access }) =>
        access.kind === 'drop' &&
        access.owner !== assumed.access.owner &&
        access.location.canonical.parent?.canonical === container &&
        (access.owner.reach.has('event') || access.owner.reach.has('request')),
    )?.access
}

function describe(read: Access, drop: Access): Draft {
  const name = read.location.name
  return {
    rule: 'H204',
    class: 'stale-reference',
    level: read.owner.role === 'event' && drop.owner.role === 'event' ? 'warning' : 'note',
    message: `${read.owner.namedAs} takes ${name} for granted, while ${drop.owner.namedAs} removes entries`,
    locations: [read.location.canonical],
    check: read,
    act: read,
    suspensions: [],
    conflict: drop,
    steps: [
      { task: 'B', text: `removes the entry: \`${textOf(drop)}\``, at: drop },
      { task: 'A', text: `is called for the same key: \`${textOf(read)}\` is undefined`, at: read },
    ],
    window: [0, 1],
    evidence: [
      read.owner.reach.get('event')?.text ?? 'it runs when something happens',
      `${drop.owner.namedAs} removes entries: events come in any order`,
    ],
    fixes: [recheck(name, [2, 2]), mutex(name, [1, 2])],
  }
}

export const assumedEntryPage: RulePage = {
  id: 'H204',
  name: 'assumed-entry',
  class: 'stale-reference',
  level: 'warning',
  summary: 'A handler takes for granted that an entry exists, which another task deletes.',
  what: `An entry of a shared container is used with a non-null assertion, or without a check, in a
handler or after a suspension, while another task deletes entries.`,
  why: `A late event for something that is gone throws inside a handler, where nobody catches it: the
process ends.`,
  race: source`
    import type { EventEmitter } from 'node:events'

    interface Peer {
      bytes: number
    }

    export class Peers {
      readonly #peers = new Map<string, Peer>()

      constructor(network: EventEmitter) {
        network.on('join', (id: string) => this.#peers.set(id, { bytes: 0 }))
        network.on('data', (id: string, size: number) => {
          this.#peers.get(id)!.bytes += size
        })
        network.on('leave', (id: string) => this.#peers.delete(id))
      }
    }
  `,
  steps: [
    ['A', 'data of peer 7 is on its way'],
    ['B', 'leave: the entry of peer 7 is deleted'],
    ['A', 'data: get(7) is undefined, the handler throws'],
  ],
  window: [2, 3],
  fixed: source`
    import type { EventEmitter } from 'node:events'

    interface Peer {
      bytes: number
    }

    export class Peers {
      readonly #peers = new Map<string, Peer>()

      constructor(network: EventEmitter) {
        network.on('join', (id: string) => this.#peers.set(id, { bytes: 0 }))
        network.on('data', (id: string, size: number) => {
          const peer = this.#peers.get(id)
          if (peer !== undefined) peer.bytes += size
        })
        network.on('leave', (id: string) => this.#peers.delete(id))
      }
    }
  `,
  fixes: [
    'Check, and decide how to handle a late event: mostly by ignoring it.',
    'Bind the handler to the entry itself, and remove it when the entry goes.',
  ],
}
