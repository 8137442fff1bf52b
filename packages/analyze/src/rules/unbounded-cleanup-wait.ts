/**
 * H307 unbounded wait in cleanup: close(), dispose() or a finally waits for an event that other code
 * has to set. When that one has died, the process never ends.
 */
import type { Suspension } from '../ir/program.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { bounded, waitForState } from './fixes.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isTeardown } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function unboundedCleanupWait(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    for (const { event, block } of host.suspensions) {
      if (event.kind !== 'await') continue
      if (!isTeardown(event.owner) && block.cleanup !== 2) continue
      if (!waitsForOthers(event)) continue
      drafts.push(describe(host.unit.namedAs, event, overlapOf(host.unit)?.text))
      break
    }
  }
  return drafts
}

/** A promise that only an event or another task settles, with nothing that limits the wait. */
function waitsForOthers(suspension: Suspension): boolean {
  const text = textOf(suspension, 400)
  if (/race|any\(|timeout|deadline|signal|abort|AbortSignal|delay|sleep|setTimeout/i.test(text))
    return false
  return (
    /^(?:await|yield)\s+this\.[#\w.]*(?:promise|deferred|stopped|done|closed|drained|finished|idle|exited|completion)\w*(?:\.promise)?$/i.test(
      text,
    ) || text.startsWith('await once(')
  )
}

function describe(name: string, suspension: Suspension, why: string | undefined): Draft {
  return {
    rule: 'H307',
    class: 'lifetime-mismatch',
    level: 'note',
    message: `${name} waits without a limit for something that another task has to do: \`${textOf(suspension, 50)}\``,
    locations: [],
    check: suspension,
    act: suspension,
    suspensions: [suspension],
    steps: [
      { task: 'B', text: 'fails before it sets the event', at: suspension },
      {
        task: 'A',
        text: `waits for ever: \`${textOf(suspension)}\``,
        at: suspension,
        isCheckpoint: true,
      },
    ],
    window: [0, 1],
    evidence: [why ?? 'it is part of a clean-up', 'nothing limits the wait'],
    fixes: [bounded([2, 2]), waitForState([1, 2])],
  }
}

export const unboundedCleanupWaitPage: RulePage = {
  id: 'H307',
  name: 'unbounded-cleanup-wait',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'A clean-up path waits, without a limit, for something that another task has to do.',
  what: `In a finally block, or in a close or dispose method, an event or a promise is awaited that
another task sets, without a deadline or a signal.`,
  why: `If that task failed, or was never started, shutdown hangs. The only way out is kill -9, and
with it everything that clean-up was for.`,
  race: source`
    export class Worker {
      readonly #stopped = Promise.withResolvers<void>()
      #isStopping = false

      async run(): Promise<void> {
        while (!this.#isStopping) await this.step()
        this.#stopped.resolve()
      }

      async step(): Promise<void> {
        await nextTask()
      }

      async close(): Promise<void> {
        this.#isStopping = true
        await this.#stopped.promise
      }
    }
  `,
  steps: [
    ['A', 'run(): step() rejects, run() ends without telling anybody'],
    ['B', 'close(): waits for a promise that nobody will resolve'],
  ],
  window: [1, 2],
  fixed: source`
    import { setTimeout as sleep } from 'node:timers/promises'

    export class Worker {
      readonly #stopped = Promise.withResolvers<void>()
      #isStopping = false

      async run(): Promise<void> {
        try {
          while (!this.#isStopping) await this.step()
        } finally {
          this.#stopped.resolve()
        }
      }

      async step(): Promise<void> {
        await nextTask()
      }

      async close(): Promise<void> {
        this.#isStopping = true
        await Promise.race([this.#stopped.promise, sleep(5_000)])
      }
    }
  `,
  fixes: [
    'Give the wait a deadline or a signal, and report the unfinished work when it passes.',
    'Set the event in finally, so that it comes on every path.',
  ],
}
