/**
 * How far the results of one worker are from those of all, in standard deviations: the chi-square of its counts against
 * the shares of the total, normalised. Above 3 it deserves attention: other hardware, another version, or made-up
 * results.
 */
export function residualOf(counts: readonly number[], total: readonly number[]): number {
  const samples = sum(counts)
  const all = sum(total)
  if (samples === 0 || all === 0) return 0
  let square = 0
  let seen = 0
  for (const [index, count] of counts.entries()) {
    const expected = (samples * (total[index] ?? 0)) / all
    if (expected === 0) continue
    seen++
    square += (count - expected) ** 2 / expected
  }
  const freedom = seen - 1
  return freedom < 1 ? 0 : (square - freedom) / Math.sqrt(2 * freedom)
}

function sum(counts: readonly number[]): number {
  return counts.reduce((before, count) => before + count, 0)
}
