/** The state of a worker in one word. */
import type { FleetWorker } from '../../api/fleet.ts'

/** Milliseconds without a call after which a worker is called silent: three times its usual wait for work. */
const silentAfter = 90_000
/** The same while it holds a lease: then it reports at least every two minutes, and may miss one report. */
const silentAtWorkAfter = 270_000

export function stateOfWorker({
  work,
  seen_ms_ago: age,
}: Pick<FleetWorker, 'work' | 'seen_ms_ago'>): 'working' | 'idle' | 'silent' {
  const isAtWork = work.length > 0
  if (age > (isAtWork ? silentAtWorkAfter : silentAfter)) return 'silent'
  return isAtWork ? 'working' : 'idle'
}

/** How many leases ended for one of these reasons. */
export function sumByReason(
  closed: Readonly<Record<string, number>>,
  reasons: readonly string[],
): number {
  return reasons.reduce((sum, reason) => sum + (closed[reason] ?? 0), 0)
}
