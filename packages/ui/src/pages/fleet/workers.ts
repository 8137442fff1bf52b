/** The state of a worker in one word. */
import type { FleetWorker } from '../../api/fleet.ts'

/** Milliseconds without a call after which a worker is called silent: three times its usual wait for work. */
const silentAfter = 90_000

export function stateOfWorker({
  work,
  seen_ms_ago: age,
}: Pick<FleetWorker, 'work' | 'seen_ms_ago'>): 'working' | 'idle' | 'silent' {
  if (work.length > 0) return 'working'
  return age > silentAfter ? 'silent' : 'idle'
}

/** How many leases ended for one of these reasons. */
export function sumByReason(
  closed: Readonly<Record<string, number>>,
  reasons: readonly string[],
): number {
  return reasons.reduce((sum, reason) => sum + (closed[reason] ?? 0), 0)
}
