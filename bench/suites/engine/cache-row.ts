import { setImmediate as turn } from 'node:timers/promises'
import type { CacheValue } from './contract.ts'

/** Keys that are asked for again and again. */
export const keys: readonly string[] = Array.from({ length: 1000 }, (_, index) => `key ${index}`)

/** Large enough that no entry of a row is ever evicted. */
export const capacity = 10_000

export function valueOf(key: string): CacheValue {
  return { key }
}

/** Stands for the slow thing behind a cache: a turn of the loop, no computation. */
export async function load(key: string): Promise<CacheValue> {
  await turn()
  return valueOf(key)
}
