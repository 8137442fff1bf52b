/** Runs, campaigns and handles hash into this many shards. Stored files depend on the number and on the hash. */
export const shardCount = 256

/**
 * The shard that a run, campaign or handle belongs to: FNV-1a over UTF-16 code units, folded to eight bits.
 * `shards` is a power of two; only tests use fewer than all.
 */
export function shardOf(name: string, shards: number = shardCount): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  }
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & (shards - 1)
}
