/** Fixed buckets, so that figures of several servers can be added up. */
import type { Histogram } from '@heddle/core/lowlevel'
import type { Sample } from './prometheus.ts'

/** Upper ends in seconds. */
const bucketEnds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

type Labels = Readonly<Record<string, string>>

export class Buckets {
  readonly #counts = bucketEnds.map(() => 0)
  #count = 0
  #sum = 0

  add(seconds: number): void {
    this.#count++
    this.#sum += seconds
    const at = bucketEnds.findIndex((end) => seconds <= end)
    if (at >= 0) this.#counts[at]!++
  }

  samples(labels: Labels): Sample[] {
    let below = 0
    const counts = this.#counts.map((count) => (below += count))
    return samplesOf(counts, this.#count, this.#sum, labels)
  }
}

/** Samples of durations in milliseconds, each known to within 3 %. */
export function histogramSamples(histogram: Histogram, labels: Labels): Sample[] {
  const counts = bucketEnds.map((end) => histogram.countUpTo(end * 1_000))
  return samplesOf(counts, histogram.count, histogram.sum / 1_000, labels)
}

function samplesOf(
  counts: readonly number[],
  count: number,
  sum: number,
  labels: Labels,
): Sample[] {
  return [
    ...bucketEnds.map((end, at) => ({
      suffix: '_bucket',
      labels: { ...labels, le: String(end) },
      value: counts[at]!,
    })),
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: count },
  ]
}
