/**
 * H404 shared remote state: a session, page or connection that all share is put into a state, and after
 * a suspension used as if it were still in it.
 */
import type { Location } from '../ir/locations.ts'
import type { CallSite } from '../ir/program.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, ownSession } from './fixes.ts'
import type { At, Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

const putting =
  /^(?:goto|navigate|select|cd|chdir|changeDirectory|switchTo|setViewport|setContext|useDatabase|selectDb|setDatabase|setLocation|setCurrent\w*)$/
const sessionName =
  /page|browser|session|conn(?:ection)?|client|db|database|tab|driver|ftp|sftp|shell|terminal/i

export function sharedRemoteState(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    for (const put of host.awaited) {
      const { receiver } = put.event
      if (receiver === undefined || !putting.test(put.event.name)) continue
      const location = receiver.canonical
      if (location.scope !== 'instance' && location.scope !== 'module') continue
      if (!sessionName.test(location.field)) continue
      const draft = from(model, host, put, location)
      if (draft === undefined) continue
      drafts.push(draft)
      break
    }
  }
  return drafts
}

function from(model: Model, host: Host, put: At<CallSite>, location: Location): Draft | undefined {
  const way = overSuspension(
    host.graph,
    put,
    (event) =>
      event.op === 'call' &&
      event !== put.event &&
      event.receiver?.canonical === location &&
      event.isJoined,
  )
  const used = way?.event as CallSite | undefined
  if (way === undefined || used === undefined) return undefined
  const [read] = host.accessesOf(location)
  const end = { block: way.block, event: way.suspensions[0]! }
  if (read !== undefined && model.held.at(host.graph, put.block.id, put.event).size > 0)
    return undefined
  if (read !== undefined && model.guardOver(host.unit, way.suspensions[0], read, end) !== undefined)
    return undefined
  const overlap = overlapOf(host.unit)
  return {
    rule: 'H404',
    class: 'missing-guard',
    level: overlap === undefined ? 'note' : 'warning',
    message: `${host.unit.namedAs} puts the shared ${location.name} into a state and then uses it: a call that overlaps puts it into another one`,
    locations: [location],
    check: put.event,
    act: used,
    suspensions: way.suspensions,
    conflict: put.event,
    steps: [
      { task: 'A', text: `\`${textOf(put.event)}\``, at: put.event, isCheckpoint: true },
      {
        task: 'B',
        text: `\`${textOf(put.event)}\` for something else, on the same ${location.name}`,
        at: put.event,
        isCheckpoint: true,
      },
      { task: 'A', text: `\`${textOf(used)}\`: sees what B has put there`, at: used },
    ],
    window: [0, 2],
    evidence: [
      overlap === undefined
        ? 'it runs at start-up only'
        : `may overlap with itself: ${overlap.text}`,
      `${location.name} is one for all calls`,
    ],
    fixes: [ownSession([1, 3]), mutex(location.name, [1, 3])],
  }
}

export const sharedRemoteStatePage: RulePage = {
  id: 'H404',
  name: 'shared-remote-state',
  class: 'missing-guard',
  level: 'warning',
  summary:
    'A shared session is set up, and used after a suspension in which other callers set it up too.',
  what: `State on the other side of a shared connection, page or session is set (a database is
selected, a page is opened), the task is suspended, and then the state is relied upon.`,
  why: `The connection has one current database, one current page. The second task changes it, and the
first one reads, or writes, in the wrong place.`,
  race: source`
    export class Browser {
      readonly #page = openPage()

      async title(url: string): Promise<string> {
        await this.#page.goto(url)
        return await this.#page.title()
      }
    }
  `,
  steps: [
    ['A', 'goto(/a): suspended'],
    ['B', 'goto(/b): suspended'],
    ['A', 'title(): that of /b'],
  ],
  window: [1, 3],
  fixed: source`
    import { Mutex } from 'async-mutex'

    export class Browser {
      readonly #page = openPage()
      readonly #lock = new Mutex()

      async title(url: string): Promise<string> {
        return this.#lock.runExclusive(async () => {
          await this.#page.goto(url)
          return await this.#page.title()
        })
      }
    }
  `,
  fixes: [
    'Take a session of your own for each task, from a pool.',
    'Hold a mutex from setting to use.',
    'Send both in one request, where the protocol can (a transaction, a qualified name).',
  ],
}
