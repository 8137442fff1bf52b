import type { HistogramSnapshot } from '@heddle/core/lowlevel'
import type { Sample } from './prometheus.ts'

/** Durations are measured in milliseconds and reported in seconds. */
export function summary(
  { count, sum, p50, p90, p99, p999 }: HistogramSnapshot,
  labels: Readonly<Record<string, string>>,
): Sample[] {
  const quantiles = Object.entries({ '0.5': p50, '0.9': p90, '0.99': p99, '0.999': p999 })
  return [
    ...quantiles.map(([quantile, value]) => ({
      labels: { ...labels, quantile },
      value: value / 1_000,
    })),
    { suffix: '_sum', labels, value: sum / 1_000 },
    { suffix: '_count', labels, value: count },
  ]
}
