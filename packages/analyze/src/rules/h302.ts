/** H302: the answer of a timed acquire is not looked at, so the work runs without the guard. */
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { mutex, scoped } from './fixes.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'

const timed = /^#?(?:try_?(?:acquire|lock|enter|take)|acquireWithTimeout|waitOne|tryWait)/i

export function h302(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hostsOf(model.calls.matching(timed))) {
    for (const { event: site } of host.calls) {
      if (!timed.test(site.name) || !(site.isDiscarded || site.isFloating)) continue
      const suspension = host.unit.suspensions.find((one) => one.joins.includes(site))
      drafts.push({
        rule: 'H302',
        class: 'lifetime-mismatch',
        level: 'warning',
        message: `${site.owner.namedAs} does not look whether \`${textOf(site)}\` got the guard: after the time limit it goes on without it`,
        locations: site.receiver === undefined ? [] : [site.receiver.canonical],
        check: site,
        act: site,
        suspensions: suspension === undefined ? [] : [suspension],
        steps: [
          { task: 'B', text: 'holds the guard for longer than the limit', at: site },
          {
            task: 'A',
            text: `\`${textOf(site)}\` gives up and answers false`,
            at: site,
            isCheckpoint: true,
          },
          {
            task: 'A',
            text: 'goes on as if it had the guard, and releases what is not its own',
            at: site,
          },
        ],
        window: [1, 2],
        evidence: [overlapOf(host.unit)?.text ?? 'it is shared', 'the answer is thrown away'],
        fixes: [scoped([2, 3]), mutex('the work', [2, 3])],
      })
    }
  }
  return drafts
}
