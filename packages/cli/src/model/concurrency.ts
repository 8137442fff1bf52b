import type { Concurrency } from '@heddle/core'

/** How many nodes can run at once, over all places. */
export function slotsOf(concurrency: Concurrency): number {
  if (typeof concurrency === 'number') return concurrency
  const limits = placesOf(concurrency).map(([, limit]) => limit)
  // A place without a limit of its own is limited by the process only.
  return limits.length < 2 ? Infinity : limits.reduce((sum, limit) => sum + limit, 0)
}

/** `at most 4 at a time`, `at most 16 at a time on the loop, 2 in threads`; undefined without a limit. */
export function describeConcurrency(concurrency: Concurrency): string | undefined {
  if (typeof concurrency === 'number') {
    return Number.isFinite(concurrency) ? `at most ${concurrency} at a time` : undefined
  }
  const [first, ...others] = placesOf(concurrency)
    .filter(([, limit]) => Number.isFinite(limit))
    .map(([place, limit]) => [limit, where[place]!] as const)
  if (first === undefined) return undefined
  const rest = others.map(([limit, place]) => `, ${limit} ${place}`).join('')
  return `at most ${first[0]} at a time ${first[1]}${rest}`
}

const where: Readonly<Record<string, string>> = {
  loop: 'on the loop',
  thread: 'in threads',
  fleet: 'on the fleet',
}

function placesOf(concurrency: Exclude<Concurrency, number>): [place: string, limit: number][] {
  return Object.entries(concurrency).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  )
}
