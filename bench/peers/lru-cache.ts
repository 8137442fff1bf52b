import { LRUCache } from 'lru-cache'
import { capacity, keys, valueOf } from '../suites/engine/cache-row.ts'
import type { CacheValue, Lookup, OpenShared } from '../suites/engine/contract.ts'

export function lookup(): Lookup {
  const cache = new LRUCache<string, CacheValue>({ max: capacity })
  for (const key of keys) cache.set(key, valueOf(key))
  return (key) => cache.get(key)
}

export const shared: OpenShared = async (load) => {
  const cache = new LRUCache<string, CacheValue>({ max: capacity, fetchMethod: (key) => load(key) })
  return (key) => cache.fetch(key)
}
