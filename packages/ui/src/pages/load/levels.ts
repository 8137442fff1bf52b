/** Levels of the load over time, as stretches of one level. */

export interface Stretch {
  readonly level: string
  /** Milliseconds since 1970. */
  readonly from: number
  readonly to: number
}

/**
 * Stretches of columns of equal length: each lasts until the next begins, the last one until the
 * last sample.
 */
export function stretchesOf(at: readonly number[], levels: readonly string[]): Stretch[] {
  const found: { level: string; from: number; to: number }[] = []
  for (const [i, time] of at.entries()) {
    const level = levels[i] ?? ''
    const last = found.at(-1)
    if (last !== undefined) last.to = time
    if (last?.level !== level) found.push({ level, from: time, to: time })
  }
  return found
}

/** The word for a level. The lowest one holds for an idle server too, which is not “loaded”. */
export function wordOf(level: string): string {
  return level === 'loaded' ? 'normal' : level
}

/** Milliseconds in each level, longest first. */
export function timesOf(stretches: readonly Stretch[]): (readonly [level: string, ms: number])[] {
  const times = new Map<string, number>()
  for (const { level, from, to } of stretches) {
    times.set(level, (times.get(level) ?? 0) + to - from)
  }
  return [...times].toSorted(([, a], [, b]) => b - a)
}
