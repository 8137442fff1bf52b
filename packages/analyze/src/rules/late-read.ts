/**
 * H505 late read: work is started, the location it will read is changed in the same region, and the
 * work reads it only after its own suspension: it sees the next value instead of the intended one.
 */
import type { Access } from '../ir/graph.ts'
import type { CallSite } from '../ir/program.ts'
import { ownerIn } from '../ir/splice.ts'
import { targetsOf } from '../summaries/call-order.ts'
import { isStore } from '../summaries/effects.ts'
import type { Effects } from '../summaries/effects.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { awaitIt, copyFirst } from './fixes.ts'
import type { At, Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { inSameRegion } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function lateRead(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.clearing) {
    if (!host.callsLate) continue
    for (const call of host.linked) {
      if (call.event.isAwaited || call.event.isGuess) continue
      const draft = from(model, host, call)
      if (draft === undefined) continue
      drafts.push(draft)
      break
    }
  }
  return drafts
}

function from(model: Model, host: Host, call: At<CallSite>): Draft | undefined {
  for (const target of targetsOf(call.event)) {
    if (target === host.unit) continue
    const { after, before } = model.summaries(target)
    for (let place = 0; place < after.size; place++) {
      const location = after.locations[place]!
      const effects = after.effects[place]!
      if (!isLateRead(effects, before.get(location))) continue
      if (!host.accessesOf(location).some(isClearing)) continue
      const way = inSameRegion(
        host.graph,
        call,
        (event) =>
          event.op === 'write' &&
          event.location.canonical === location &&
          !isStore(event) &&
          ownerIn(event) === ownerIn(call.event) &&
          event.value?.literal !== 'false',
      )
      const write = way?.event as Access | undefined
      if (write === undefined) continue
      return describe(host, call.event, write, effects.read!.access)
    }
  }
  return undefined
}

function isClearing({ access }: Located): boolean {
  return access.op === 'write' && !isStore(access)
}

/** Read for its value after the suspension, without a check and without having been written there. */
function isLateRead(effects: Effects, before: Effects | undefined): boolean {
  return (
    effects.read !== undefined &&
    effects.check === undefined &&
    effects.store === undefined &&
    effects.clear === undefined &&
    effects.read.distance === 0 &&
    before?.read === undefined &&
    before?.store === undefined
  )
}

function describe(host: Host, start: CallSite, write: Access, read: Access): Draft {
  const name = write.location.name
  return {
    rule: 'H505',
    class: 'atomicity-gap',
    level: 'warning',
    message: `${host.unit.namedAs} starts \`${textOf(start, 40)}\` and then empties ${name}, which ${read.owner.namedAs} reads only later`,
    locations: [write.location.canonical],
    check: start,
    act: write,
    suspensions: read.owner.suspensions.slice(0, 1),
    conflict: read,
    steps: [
      { task: 'A', text: `starts \`${textOf(start)}\``, at: start },
      {
        task: 'B',
        text: 'is suspended before it has read anything',
        at: read.owner.suspensions[0] ?? start,
        isCheckpoint: true,
      },
      { task: 'A', text: `empties ${name}: \`${textOf(write)}\``, at: write },
      { task: 'B', text: `reads it: \`${textOf(read)}\`: the intended value is gone`, at: read },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'both run in one program',
      `${read.owner.namedAs} reads ${name} after its suspension`,
    ],
    fixes: [copyFirst(name, [2, 4]), awaitIt(textOf(start, 40), [2, 3])],
  }
}

export const lateReadPage: RulePage = {
  id: 'H505',
  name: 'late-read',
  class: 'atomicity-gap',
  level: 'warning',
  summary: 'An operation is started, and state that it reads later is changed at once.',
  what: `An async call is started without being awaited, then a shared location is written, and the
started operation reads that location after its own first suspension.`,
  why: `The operation was meant to see the state at its start. It sees a later one.`,
  race: source`
    export class Recorder {
      #buffer: string[] = []

      add(line: string): void {
        this.#buffer.push(line)
      }

      async #write(): Promise<void> {
        const file = await openFile()
        await file.append(this.#buffer.join('\n'))
      }

      flush(): Promise<void> {
        const writing = this.#write()
        this.#buffer = []
        return writing
      }
    }
  `,
  steps: [
    ['A', 'flush(): starts to write'],
    ['B', '#write(): await openFile(): suspended'],
    ['A', 'empties the buffer'],
    ['B', 'resumes, and writes an empty buffer: the lines are lost'],
  ],
  window: [2, 4],
  fixed: source`
    export class Recorder {
      #buffer: string[] = []

      add(line: string): void {
        this.#buffer.push(line)
      }

      async #write(lines: readonly string[]): Promise<void> {
        const file = await openFile()
        await file.append(lines.join('\n'))
      }

      flush(): Promise<void> {
        const lines = this.#buffer
        this.#buffer = []
        return this.#write(lines)
      }
    }
  `,
  fixes: [
    'Pass the data that the operation needs as an argument.',
    'Change the state after the operation has ended.',
  ],
}
