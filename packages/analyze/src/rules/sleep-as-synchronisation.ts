/** H405: a fixed sleep is meant to be long enough for something that another task does. */
import type { Access } from '../ir/graph.ts'
import type { CallSite } from '../ir/program.ts'
import { targetsOf } from '../summaries/call-order.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { awaitIt, waitForState } from './fixes.ts'
import type { At, Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

const sleepText =
  /^await\s+(?:\w+\.)*(?:sleep|delay|wait|pause|setTimeout|timeout)\(\s*[\d_]+\s*(?:,[^)]*)?\)$|^await\s+new Promise\(.*setTimeout\(\s*\w+\s*,\s*[\d_]+\s*\)/i

export function sleepAsSynchronisation(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    const started = startedIn(host)
    if (started.length === 0) continue
    for (const { event, block, index } of host.suspensions) {
      if (event.kind !== 'await' || block.isLoopBody) continue
      if (event.end - event.start > 200 || !sleepText.test(textOf(event, 200))) continue
      for (const start of started) {
        if (start.event.start >= event.start) continue
        const read = readAfter(model, host, start, { block, index })
        if (read === undefined) continue
        drafts.push(describe(host, start.event, event, read))
        break
      }
    }
  }
  return drafts
}

/** Work that was started and is not waited for. */
function startedIn(host: Host): At<CallSite>[] {
  return host.linked.filter(({ event }) => event.isFloating || event.isDetached)
}

function readAfter(
  model: Model,
  host: Host,
  start: At<CallSite>,
  sleep: Parameters<typeof overSuspension>[1],
): Access | undefined {
  for (const target of targetsOf(start.event)) {
    const { after } = model.summaries(target)
    const way = overSuspension(
      host.graph,
      { block: sleep.block, index: sleep.index - 1 },
      (event) =>
        event.op === 'read' &&
        event.checks.length === 0 &&
        after.get(event.location.canonical)?.store !== undefined,
    )
    if (way?.event !== undefined) return way.event as Access
  }
  return undefined
}

function describe(
  host: Host,
  start: CallSite,
  sleep: Draft['suspensions'][number],
  read: Access,
): Draft {
  const name = read.location.name
  return {
    rule: 'H405',
    class: 'missing-guard',
    level: 'note',
    message: `${host.unit.namedAs} sleeps and hopes that \`${textOf(start, 40)}\` has stored ${name} by then`,
    locations: [read.location.canonical],
    check: sleep,
    act: read,
    suspensions: [sleep],
    conflict: start,
    steps: [
      { task: 'A', text: `starts \`${textOf(start)}\` without waiting for it`, at: start },
      { task: 'A', text: `sleeps: \`${textOf(sleep)}\``, at: sleep, isCheckpoint: true },
      { task: 'A', text: `reads ${name}: \`${textOf(read)}\``, at: read },
      { task: 'B', text: 'on a slow machine it is stored only now', at: start },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'it depends on the speed of the machine',
      'the time is a constant',
    ],
    fixes: [awaitIt(textOf(start, 40), [1, 3]), waitForState([2, 3])],
  }
}

export const sleepAsSynchronisationPage: RulePage = {
  id: 'H405',
  name: 'sleep-as-synchronisation',
  class: 'missing-guard',
  level: 'note',
  summary: 'A fixed sleep stands where a wait for an event belongs.',
  what: `Something is started without being awaited, a fixed time is slept, and then the code continues
as if it were ready.`,
  why: `On a loaded machine it is not ready yet; on a fast one the time is wasted. It is the most
frequent cause of tests that fail now and then.`,
  race: source`
    import { setTimeout as sleep } from 'node:timers/promises'

    export class Service {
      #server: Server | undefined

      async start(): Promise<string> {
        void this.#listen()
        await sleep(500)
        return this.#server!.url
      }

      async #listen(): Promise<void> {
        this.#server = await createServer()
      }
    }
  `,
  steps: [
    ['A', 'starts to listen, and does not wait for it'],
    ['A', 'sleeps half a second'],
    ['A', 'reads the URL of a server that is not there yet'],
    ['B', 'the server listens'],
  ],
  window: [2, 3],
  fixed: source`
    export class Service {
      #server: Server | undefined

      async start(): Promise<string> {
        this.#server = await createServer()
        return this.#server.url
      }
    }
  `,
  fixes: [
    'Await what makes it ready.',
    'Wait for the event, with a deadline.',
    'Ask again and again, with a deadline, where there is nothing to wait for.',
  ],
}
