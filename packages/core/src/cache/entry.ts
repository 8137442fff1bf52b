import type { ParentVersion } from './tier.ts'

/**
 * The entries in memory that were made from one version of a parent.
 *
 * When the parent changes, `alive` turns false: that ends all of them in one step, however many
 * there are. They can then be removed from memory in slices.
 */
export class Family<V> implements ParentVersion {
  readonly key: string
  readonly version: number
  alive = true
  readonly members = new Set<Entry<V>>()

  constructor(key: string, version: number) {
    this.key = key
    this.version = version
  }
}

/** A value in memory: in the LRU, in a change that is not on the tier yet, or both. */
export class Entry<V> {
  readonly key: string
  readonly value: V
  readonly version: number
  /** Wall time, for the tier. */
  readonly createdAt: number
  readonly ttl: number
  /** The expiry on the monotonic clock, for memory. */
  readonly expiresAt: number
  readonly family: Family<V> | undefined
  /** It counts until it is replaced: it neither expires nor has a parent. */
  readonly isLasting: boolean
  /** Bytes it is charged in memory; undefined until a large value has been encoded. */
  weight: number | undefined
  /** Places that hold it: the LRU and the pending change. */
  holders = 0

  constructor(
    key: string,
    value: V,
    version: number,
    life: { readonly createdAt: number; readonly ttl: number; readonly expiresAt: number },
    family: Family<V> | undefined,
    weight: number | undefined,
  ) {
    this.key = key
    this.value = value
    this.version = version
    this.createdAt = life.createdAt
    this.ttl = life.ttl
    this.expiresAt = life.expiresAt
    this.family = family
    this.isLasting = life.expiresAt === Infinity && family === undefined
    this.weight = weight
  }

  /** Whether it still counts: not expired, and its parent is the one it was made from. */
  isValid(now: number): boolean {
    return this.expiresAt > now && this.family?.alive !== false
  }
}

/**
 * What memory is charged for a value: its bytes, and for each inner value the overhead of an object
 * or a string on the heap beyond its bytes (33 to 47 bytes measured, see decision 0053).
 */
export function weightOf(bytes: number, values: number): number {
  return bytes + (values - 1) * 40
}

/** Which entries in memory were derived from which. */
export class Lineage<V> {
  readonly #families = new Map<string, Family<V>>()

  /** The family of a parent's current version. The entry that joins is held in the same step. */
  join(parent: ParentVersion): Family<V> {
    let family = this.#families.get(parent.key)
    if (family?.version !== parent.version) {
      family = new Family(parent.key, parent.version)
      this.#families.set(parent.key, family)
    }
    return family
  }

  /** The parent changed: its family ends. */
  end(parent: string): Family<V> | undefined {
    const family = this.#families.get(parent)
    if (family === undefined) return undefined
    this.#families.delete(parent)
    family.alive = false
    return family
  }

  endAll(): void {
    for (const family of this.#families.values()) family.alive = false
    this.#families.clear()
  }

  /** The entry is held elsewhere too. */
  hold(entry: Entry<V>): void {
    entry.holders++
    entry.family?.members.add(entry)
  }

  /** A place gave it up; with the last one it leaves its family, and an empty family goes. */
  drop(entry: Entry<V>): void {
    entry.holders--
    const { family } = entry
    if (entry.holders > 0 || family === undefined) return
    family.members.delete(entry)
    if (family.members.size > 0 || this.#families.get(family.key) !== family) return
    this.#families.delete(family.key)
  }
}
