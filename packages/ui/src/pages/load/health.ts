/** What `/healthz` says, and its history in this tab. */

export interface QueueHealth {
  readonly capacity: number
  readonly queued: number
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

export interface Sample {
  /** Seconds since 1970. */
  readonly at: number
  readonly health: Health
}

/** Ten minutes, at one a second. */
const most = 600

export function addSample(history: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...history.slice(1 - most), sample]
}

/** Change for each second between two neighbouring samples; null before the first. */
export function ratesOf(
  history: readonly Sample[],
  read: (health: Health) => number,
): (number | null)[] {
  return history.map((sample, i) => {
    const before = history[i - 1]
    if (before === undefined || sample.at <= before.at) return null
    // A server that was started again counts from 0.
    return Math.max(0, read(sample.health) - read(before.health)) / (sample.at - before.at)
  })
}
