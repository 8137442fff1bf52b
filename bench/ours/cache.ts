import { openCache } from '@heddle/core/lowlevel'
import { capacity, keys, valueOf } from '../suites/engine/cache-row.ts'
import type { CacheValue, Lookup, OpenShared } from '../suites/engine/contract.ts'

/** Both tiers in memory: the row is about the hit, not about the disk. */
export async function lookup(): Promise<Lookup> {
  const cache = await openCache<CacheValue>({ maxEntries: capacity })
  await Promise.all(keys.map((key) => cache.set(key, valueOf(key))))
  return (key) => cache.tryGet(key)
}

export const shared: OpenShared = async (load) => {
  const cache = await openCache<CacheValue>({ maxEntries: capacity })
  return (key) => cache.getOrCompute(key, () => load(key))
}
