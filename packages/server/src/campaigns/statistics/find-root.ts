/**
 * The root of a continuous function between two values of different sign: halves the interval until no number is
 * between its ends. Undefined when both ends have the same sign.
 */
export function findRoot(f: (x: number) => number, low: number, high: number): number | undefined {
  let atLow = f(low)
  const atHigh = f(high)
  if (atLow === 0) return low
  if (atHigh === 0) return high
  if (Number.isNaN(atLow) || Number.isNaN(atHigh) || atLow > 0 === atHigh > 0) return undefined
  for (let step = 0; step < 2_000; step++) {
    const middle = low + (high - low) / 2
    if (middle <= low || middle >= high) return middle
    const atMiddle = f(middle)
    if (atMiddle === 0) return middle
    if (atMiddle > 0 === atLow > 0) {
      low = middle
      atLow = atMiddle
    } else high = middle
  }
  return low + (high - low) / 2
}
