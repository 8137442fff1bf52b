import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { diskTier, openCache } from '@heddle/core/lowlevel'
import { capacity, keys, valueOf } from '../suites/engine/cache-row.ts'
import type { CacheValue, KeepLarge, Lookup, OpenShared } from '../suites/engine/contract.ts'

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

/** On disk, with a memory that is too small for any of the values: every read is a cold one. */
export async function keepLarge(): Promise<KeepLarge> {
  const directory = await mkdtemp(path.join(tmpdir(), 'heddle-bench-'))
  const cache = await openCache({ tier: diskTier({ directory }), maxBytes: 1 })
  return {
    set: (key, value) => cache.set(key, value),
    readBack: (key) => cache.get(key),
    async close() {
      await cache.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
