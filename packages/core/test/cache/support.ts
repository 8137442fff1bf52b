import { openCache, type Cache } from '../../src/cache/cache.ts'
import type { CacheOptions } from '../../src/cache/cache-options.ts'
import { seededRandom } from '../../src/kernel/random.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import { HeldTier } from './held-tier.ts'

export interface Bench<V> {
  readonly cache: Cache<V>
  readonly tier: HeldTier
  readonly clock: VirtualClock
  /** The same tier under a new cache, with its state so far. */
  restart(): Promise<Cache<V>>
}

/** A cache over a tier that holds nothing back until the test asks for it. */
export async function openBench<V = string>(options: CacheOptions = {}): Promise<Bench<V>> {
  const clock = new VirtualClock()
  const tier = new HeldTier(false)
  const all = { kernel: { clock, random: seededRandom(1) }, tier, ...options }
  const cache = await openCache<V>(all)
  return { cache, tier, clock, restart: () => openCache<V>(all) }
}

/** Like openBench, with these entries on the tier only. */
export async function openCold<V = string>(
  entries: Readonly<Record<string, V>>,
  options: CacheOptions = {},
): Promise<Bench<V>> {
  const bench = await openBench<V>(options)
  for (const [key, value] of Object.entries(entries)) await bench.cache.set(key, value)
  const cache = await bench.restart()
  bench.tier.isHolding = true
  bench.tier.log.length = 0
  return { ...bench, cache }
}

/** The leftovers when everything has ended. */
export function leftovers<V>({ cache, clock, tier }: Bench<V>): unknown {
  const { active, pending, reads } = cache.stats()
  const { writes, bytes, waiting } = pending
  return { active, reads, writes, bytes, waiting, timers: clock.pending, held: tier.held.length }
}

export const nothing = { active: 0, reads: 0, writes: 0, bytes: 0, waiting: 0, timers: 0, held: 0 }
