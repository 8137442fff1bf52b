/** Log-linear histogram of milliseconds: 32 buckets for each power of two, from a microsecond to an hour. */
const perPower = 32
const powers = 32

export interface LatencyFigures {
  readonly count: number
  readonly errors: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

export class Latency {
  #buckets = new Float64Array(perPower * powers)
  #count = 0
  #max = 0
  errors = 0

  add(ms: number): void {
    this.#count++
    if (ms > this.#max) this.#max = ms
    this.#buckets[bucketOf(ms)]!++
  }

  reset(): void {
    this.#buckets = new Float64Array(perPower * powers)
    this.#count = 0
    this.#max = 0
    this.errors = 0
  }

  /** The value below which a part of all are, rounded up by at most 3 %. */
  quantile(part: number): number {
    const wanted = Math.ceil(part * this.#count)
    let seen = 0
    for (const [index, count] of this.#buckets.entries()) {
      seen += count
      if (seen >= wanted && count > 0) return Math.min(valueOf(index), this.#max)
    }
    return 0
  }

  figures(): LatencyFigures {
    const rounded = (ms: number): number => Math.round(ms * 100) / 100
    return {
      count: this.#count,
      errors: this.errors,
      p50: rounded(this.quantile(0.5)),
      p99: rounded(this.quantile(0.99)),
      p999: rounded(this.quantile(0.999)),
      max: rounded(this.#max),
    }
  }
}

function bucketOf(ms: number): number {
  const us = Math.max(1, ms * 1_000)
  const power = Math.min(powers - 1, Math.floor(Math.log2(us)))
  const part = Math.floor((us / 2 ** power - 1) * perPower)
  return power * perPower + Math.min(perPower - 1, Math.max(0, part))
}

/** The upper end of a bucket, in milliseconds. */
function valueOf(index: number): number {
  const power = Math.floor(index / perPower)
  const part = index % perPower
  return (2 ** power * (1 + (part + 1) / perPower)) / 1_000
}
