/**
 * H508 answered early: a message is sent, the task waits until it is sent, and only then the state is
 * written that the answer needs. The answer may arrive before that.
 *
 * Two shapes: an entry for the answer (`await send({ id }); pending.set(id, …)`) that another function
 * looks up, and a mark (`await socket.send(accepted); client.isAccepted = true`) without which the next
 * message of the peer is refused.
 */
import type { Access, Event } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, Suspension } from '../ir/program.ts'
import { nextOf, ownerIn } from '../ir/splice.ts'
import { isStore } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { registerFirst, setThenSend } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isAnswer } from './shared.ts'
import { inSameRegion, isIdentityCheck, isLook } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

/** Verbs of the platform that hand a message to a peer: sockets, ports, processes, streams. */
const sending = new Set(['send', 'postMessage', 'write'])

export function answeredEarly(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!host.isWriting || host.unit.kind === 'constructor') continue
    const draft = inHost(model, host)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

function inHost(model: Model, host: Host): Draft | undefined {
  const senders = writesAfterSends(host)
  if (senders.size === 0) return undefined
  for (const { location, accesses } of host.written) {
    for (const late of accesses) {
      const { access } = late
      if (access.op !== 'write' || access.isInitial || !isStore(access)) continue
      const asked = senders.get(access)
      if (asked === undefined) continue
      const reader =
        location.scope === 'entry'
          ? lookedUpIn(model, host, access, asked)
          : refusedIn(model, host, late)
      if (reader !== undefined) return describe(host, access, asked, reader)
    }
  }
  return undefined
}

/**
 * For each write, the message that was sent before it, with no check and no wait in between.
 * One walk for each message: a function with thousands of writes has as many messages.
 */
function writesAfterSends(host: Host): ReadonlyMap<Access, Suspension> {
  const senders = new Map<Access, Suspension>()
  for (const { event: asked, block, index } of host.suspensions) {
    if (asked.kind !== 'await') continue
    if (!asked.joins.some((site) => isSend(site) && site.isDiscarded)) continue
    const noteWrite = (event: Event): boolean => {
      if (event.op === 'write' && ownerIn(event) === ownerIn(asked) && !senders.has(event))
        senders.set(event, asked)
      return false
    }
    inSameRegion(
      host.graph,
      { block, index },
      noteWrite,
      (event) => isLook(event) || isIdentityCheck(event),
    )
  }
  return senders
}

function isSend(event: Event): boolean {
  return event.op === 'call' && sending.has(event.name) && event.callee.kind === 'member'
}

/** Another function takes the entry out, by a key that was in the message. */
function lookedUpIn(
  model: Model,
  host: Host,
  write: Access,
  asked: Suspension,
): Access | undefined {
  const container = write.location.parent?.canonical
  if (container === undefined || !isKept(container)) return undefined
  const key = /\[([\w$.#]+)\]$/.exec(write.location.name)?.[1]
  if (key === undefined || !isInMessage(asked, key)) return undefined
  // The answer to the question itself cannot be registered before.
  if (write.value?.isAwaited === true) return undefined
  for (const unit of model.readers.of(container)) {
    if (unit === host.unit) continue
    for (const { location, accesses } of model.hostOf(unit).groups)
      if (location.scope === 'entry' && location.parent?.canonical === container) {
        const taken = accesses.find(({ access }) => access.op === 'read' || access.kind === 'drop')
        if (taken !== undefined) return taken.access
      }
  }
  return undefined
}

function isKept({ scope }: Location): boolean {
  return scope === 'instance' || scope === 'module' || scope === 'closure'
}

/** The key stands in the message, or in the object that is sent. */
function isInMessage({ owner, start, end }: Suspension, key: string): boolean {
  const { text } = owner.file.parsed
  const word = (name: string): RegExp =>
    new RegExp(`(?<![\\w$])${name.replace(/[.$]/g, '\\$&')}(?![\\w$])`)
  const message = text.slice(start, end)
  if (word(key).test(message)) return true
  const before = text.slice(Math.max(0, start - 4_000), start)
  for (const name of message.slice(message.indexOf('(')).match(/[A-Za-z_$][\w$]*/g) ?? []) {
    const made = new RegExp(
      `\\b${name.replaceAll('$', '\\$')}\\b[^=;\\n]{0,80}=\\s*\\{([^}]{0,400})\\}`,
    ).exec(before)
    if (made !== null && word(key).test(made[1]!)) return true
  }
  return false
}

/** The next message is refused when the mark is not there. */
function refusedIn(model: Model, host: Host, late: Located): Access | undefined {
  const { access } = late
  const location = access.location.canonical
  if (access.value?.literal !== 'true' || isAnswer(location) || location.depth === 0)
    return undefined
  for (const unit of new Set([host.unit, ...model.summaries.uses.hostsOf(location)])) {
    if (unit.graph === undefined || overlapOf(unit) === undefined) continue
    const refusing = model
      .hostOf(unit)
      .accessesOf(location)
      .find(
        ({ access: read }) =>
          read.op === 'read' && read.checks.some((one) => isRefusal(one.whenAbsent)),
      )
    if (refusing !== undefined) return refusing.access
  }
  return undefined
}

/** Whether it throws, or ends with one call: the peer is sent away. */
function isRefusal(block: Access['checks'][number]['whenAbsent']): boolean {
  if (block === undefined) return false
  if (block.isThrowing) return true
  const calls = block.events.filter((event): event is CallSite => event.op === 'call')
  return (
    calls.some((site) => site.isReturned) &&
    nextOf(block).every((next) => nextOf(next).length === 0)
  )
}

function describe(host: Host, write: Access, asked: Suspension, reader: Access): Draft {
  const { name } = write.location
  const taker = reader.owner.namedAs
  return {
    rule: 'H508',
    class: 'atomicity-gap',
    level: 'warning',
    message: `${host.unit.namedAs} writes ${name} only after \`${textOf(asked, 40)}\`: an answer that comes before finds nothing in ${taker}`,
    locations: [write.location.canonical],
    check: asked,
    act: write,
    suspensions: [asked],
    conflict: reader,
    steps: [
      { task: 'A', text: `sends and waits: \`${textOf(asked)}\``, at: asked, isCheckpoint: true },
      { task: 'B', text: `the answer arrives: \`${textOf(reader)}\` finds nothing`, at: reader },
      {
        task: 'A',
        text: `writes the entry that the answer needed: \`${textOf(write)}\``,
        at: write,
      },
    ],
    window: [0, 2],
    evidence: [
      `${taker} looks it up when a message arrives`,
      overlapOf(reader.owner)?.text ??
        overlapOf(host.unit)?.text ??
        'the peer answers when it likes',
    ],
    fixes: [setThenSend(name, [1, 3]), registerFirst(name, [1, 3])],
  }
}

export const answeredEarlyPage: RulePage = {
  id: 'H508',
  name: 'answered-early',
  class: 'atomicity-gap',
  level: 'warning',
  summary: 'What an answer needs is written only after the question was sent.',
  what: `A message is sent and awaited. Only then the function writes the entry or the mark that the handler
of the answer looks up.`,
  why: `The peer does not wait until the promise of send() has settled. Its answer is dropped as unknown,
and the caller waits for ever; or its next message is refused.`,
  race: source`
    export class Client {
      readonly #pending = new Map<number, Pending>()
      #next = 0

      async request(body: string, pending: Pending): Promise<void> {
        const id = this.#next++
        await this.#socket.send({ id, body })
        this.#pending.set(id, pending)
      }

      onMessage(message: Message): void {
        const pending = this.#pending.get(message.id)
        this.#pending.delete(message.id)
        pending?.resolve(message.body)
      }
    }
  `,
  steps: [
    ['A', 'request(): sends the question and waits until it is sent'],
    ['B', 'onMessage(): the answer is here, and nothing is pending'],
    ['A', 'pending.set(): the answer was dropped'],
  ],
  window: [1, 3],
  fixed: source`
    export class Client {
      readonly #pending = new Map<number, Pending>()
      #next = 0

      async request(body: string, pending: Pending): Promise<void> {
        const id = this.#next++
        this.#pending.set(id, pending)
        await this.#socket.send({ id, body })
      }

      onMessage(message: Message): void {
        const pending = this.#pending.get(message.id)
        this.#pending.delete(message.id)
        pending?.resolve(message.body)
      }
    }
  `,
  fixes: [
    'Write first, then send; take it back when sending fails.',
    'Let the handler keep answers that nobody waits for yet.',
  ],
}
