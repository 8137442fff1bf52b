/** The middle value; the mean of the two middle ones for an even count. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('median of nothing')
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle]!
  return sorted.length % 2 === 1 ? upper : (sorted[middle - 1]! + upper) / 2
}

/** Three significant digits: more would claim a precision that a shared machine does not have. */
export function round(value: number): number {
  return Number(value.toPrecision(3))
}

/** Above 1 means that `ours` is better, whichever direction is better. */
export function ratioOf(ours: number, other: number, better: 'more' | 'less'): number {
  return better === 'more' ? ours / other : other / ours
}

export function best(values: readonly number[], better: 'more' | 'less'): number | undefined {
  if (values.length === 0) return undefined
  return better === 'more' ? Math.max(...values) : Math.min(...values)
}
