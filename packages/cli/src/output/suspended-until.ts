/** The time when suspended nodes continue by themselves: an estimate cannot be shorter. */
import type { Explanation } from '@heddle/core'
import type { Clock } from '@heddle/core/lowlevel'
import type { NodeRow, RunModel } from '../model/run-model.ts'

/** How many suspended nodes are asked what they wait for; with more than these the answer is unknown. */
const explainedSuspended = 20

/** The suspended nodes that are asked. */
export function suspendedRows(model: RunModel): NodeRow[] {
  return [...Iterator.from(model.in('suspended')).take(explainedSuspended)]
}

/**
 * On the clock's monotonic scale: when the last of them continues, `Infinity` when one of them waits for a signal or
 * for something of which no end is known, `undefined` when none is suspended.
 */
export function suspendedUntil(
  model: RunModel,
  explanations: ReadonlyMap<NodeRow, Explanation>,
  clock: Pick<Clock, 'now' | 'wallTime'>,
): number | undefined {
  const suspended = model.in('suspended')
  if (suspended.size === 0) return undefined
  if (suspended.size > explainedSuspended) return Infinity
  const offset = clock.now() - clock.wallTime()
  let latest: number | undefined
  for (const row of suspended) {
    // A sub-graph waits for its nodes, which are in the list themselves.
    if (row.activity !== undefined && row.parts === undefined) continue
    latest = Math.max(latest ?? -Infinity, offset + endOf(explanations.get(row)))
  }
  return latest
}

function endOf(explanation: Explanation | undefined): number {
  if (explanation?.why !== 'suspended') return Infinity
  const { signal, until } = explanation.waitsFor ?? {}
  return signal === undefined ? (until ?? Infinity) : Infinity
}
