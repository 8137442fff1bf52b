/** The answer of `/healthz`, and the figures computed from it. */

export interface QueueHealth {
  readonly capacity: number
  readonly queued: number
  /** Indexed by priority, 0 to 9. */
  readonly queuedByPriority: readonly number[]
  readonly tenants: number
  readonly running: number
  readonly finished: number
  readonly rejected: number
  readonly rejectedBy: Readonly<Record<string, number>>
  readonly load: { readonly utilisation: number; readonly level: string; readonly label: string }
  readonly wait: Percentiles
  readonly run: Percentiles
}

export interface Percentiles {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface Health {
  readonly status: 'ok' | 'degraded'
  readonly causes: readonly string[]
  readonly state: string
  readonly draining: boolean
  readonly load?: { readonly level: string; readonly label: string; readonly utilisation: number }
  readonly requests?: number
  readonly queues?: Readonly<Record<string, QueueHealth>>
  readonly outcomes?: Readonly<Record<string, number>>
  readonly threads: { readonly busy: number; readonly queued: number; readonly crashed: number }
  readonly connections: { readonly open: number }
  readonly loop: { readonly longest_gap_ms: number; readonly gaps: number }
}

/** Change for each second between neighbouring values of a counter; null before the first. */
export function ratesOf(at: readonly number[], counts: readonly number[]): (number | null)[] {
  return counts.map((count, i) => {
    const before = counts[i - 1]
    const passed = (at[i]! - (at[i - 1] ?? at[i]!)) / 1_000
    if (before === undefined || passed <= 0) return null
    // A server that was started again counts from 0.
    return Math.max(0, count - before) / passed
  })
}

/** Entries that wait, by lane: what priorities are called. */
export function lanesOf({ queuedByPriority }: QueueHealth): string {
  const lanes = queuedByPriority
    .map((count, priority) => ({ count, name: laneNames[priority] ?? `priority ${priority}` }))
    .filter(({ count }) => count > 0)
  return lanes.length === 0 ? 'none' : lanes.map(({ count, name }) => `${count} ${name}`).join(', ')
}

const laneNames: Readonly<Record<number, string>> = { 0: 'interactive', 1: 'usual', 3: 'prefetch' }

/** How many computations each tenant has, most first. */
export function byTenant(
  computations: readonly { readonly tenant: string }[],
): (readonly [tenant: string, count: number])[] {
  const counts = new Map<string, number>()
  for (const { tenant } of computations) counts.set(tenant, (counts.get(tenant) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)
}

/** The longest waiting request; undefined when none waits. */
export function oldestWaiting<
  C extends { readonly state: string; readonly age_ms?: number | undefined },
>(computations: readonly C[]): C | undefined {
  return computations
    .filter(({ state, age_ms: age }) => waitingStates.includes(state) && age !== undefined)
    .reduce<C | undefined>(
      (oldest, each) => (oldest === undefined || each.age_ms! > oldest.age_ms! ? each : oldest),
      undefined,
    )
}

const waitingStates = ['looking', 'queued', 'waiting']
