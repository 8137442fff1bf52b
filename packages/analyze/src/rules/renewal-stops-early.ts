/** H305: the renewal of a lease, lock or session stops before the work it protects has ended. */
import type { CallSite, Suspension } from '../ir/program.ts'
import { ownerIn } from '../ir/splice.ts'
import { ask, found } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { inFinally, mutex } from './fixes.ts'
import type { At, Host } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

const renewal = /renew|heart_?beat|keep_?alive|extend|touch|\bbeat\b|prolong/i

export function renewalStopsEarly(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hostsOf(model.calls.named('setInterval'))) {
    if (!host.graph.suspends) continue
    const { calls } = host
    const timers = calls.filter(({ event }) => event.name === 'setInterval' && isRenewal(event))
    if (timers.length === 0) continue
    for (const stopped of calls) {
      if (stopped.event.name !== 'clearInterval' || stopped.block.cleanup !== 0) continue
      const draft = from(host, timers[0]!.event, stopped)
      if (draft === undefined) continue
      drafts.push(draft)
      break
    }
  }
  return drafts
}

function isRenewal(site: CallSite): boolean {
  const { text } = site.owner.file.parsed
  return renewal.test(
    text.slice(Math.max(0, site.start - 40), Math.min(site.end, site.start + 160)),
  )
}

/** Work that is waited for after the timer was stopped. */
function from(host: Host, timer: CallSite, stopped: At<CallSite>): Draft | undefined {
  const way = ask(host.graph, stopped, {
    states: 1,
    start: 0,
    step: (event) => (event.op === 'suspend' ? found : 0),
  })
  const suspension = way?.event as Suspension | undefined
  if (
    suspension === undefined ||
    suspension.joins.length === 0 ||
    ownerIn(suspension) !== ownerIn(stopped.event)
  )
    return undefined
  const [work] = suspension.joins
  if (work === undefined || /release|unlock|close|stop|end|destroy|cleanup/i.test(work.name))
    return undefined
  return {
    rule: 'H305',
    class: 'lifetime-mismatch',
    level: 'warning',
    message: `${stopped.event.owner.namedAs} stops the renewal before \`${textOf(work, 40)}\`: another holder may get the protected resource before this one is done`,
    locations: [],
    check: stopped.event,
    act: work,
    suspensions: [suspension],
    conflict: timer,
    steps: [
      { task: 'A', text: `renews regularly: \`${textOf(timer)}\``, at: timer },
      { task: 'A', text: `stops renewing: \`${textOf(stopped.event)}\``, at: stopped.event },
      {
        task: 'A',
        text: `continues the work: \`${textOf(suspension)}\``,
        at: suspension,
        isCheckpoint: true,
      },
      {
        task: 'B',
        text: 'sees the lease expire and takes over: two do the same work',
        at: suspension,
      },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(host.unit)?.text ?? 'leases are shared with other processes',
      'the work continues after the last renewal',
    ],
    fixes: [inFinally('the timer', [2, 3]), mutex('the completion', [3, 4])],
  }
}

export const renewalStopsEarlyPage: RulePage = {
  id: 'H305',
  name: 'renewal-stops-early',
  class: 'lifetime-mismatch',
  level: 'warning',
  summary: 'A renewal or heartbeat stops before the work that it protects has ended.',
  what: `A timer that renews a lease, a lock or a visibility time-out is cleared while work that needs
it is still to come.`,
  why: `The lease runs out in the last seconds of the work, another worker takes it over, and both
finish it.`,
  race: source`
    export async function work(lease: Lease): Promise<void> {
      const beat = setInterval(() => lease.renew(), 5_000)
      const result = await compute(lease.task)
      clearInterval(beat)
      await upload(result)
      await lease.complete()
    }
  `,
  steps: [
    ['A', 'computes, and renews its lease every five seconds'],
    ['A', 'stops renewing, and uploads for a minute'],
    ['B', 'the lease has run out: another worker takes the task'],
    ['A', 'completes a lease that is no longer its own'],
  ],
  window: [2, 4],
  fixed: source`
    export async function work(lease: Lease): Promise<void> {
      const beat = setInterval(() => lease.renew(), 5_000)
      try {
        const result = await compute(lease.task)
        await upload(result)
        await lease.complete()
      } finally {
        clearInterval(beat)
      }
    }
  `,
  fixes: [
    'Stop renewing in finally, after the last step that needs the lease.',
    'Check that the lease is still yours before the result is written (fencing token).',
  ],
}
