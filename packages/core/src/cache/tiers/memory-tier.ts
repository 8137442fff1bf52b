import { HeddleError } from '../../errors.ts'
import { checkCount, checkOptions, type OptionNames } from '../../kernel/check.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemKernel, type Kernel } from '../../kernel/kernel.ts'
import { Slices } from '../../kernel/slices.ts'
import type { CacheTier, TierEntry, TierMeta, TierStats, TierWrite } from '../tier.ts'

export interface MemoryTierOptions {
  /** Bytes of keys and values, and of the overhead of each entry. 256 MiB when absent. */
  readonly maxBytes?: number | undefined
  readonly kernel?: Kernel | undefined
}

/** The heap overhead of an entry besides its key and its bytes: measured, see decision 0611. */
const overhead = 600

interface Stored extends TierEntry {
  readonly size: number
}

const optionNames = {
  maxBytes: 1,
  kernel: 1,
} satisfies OptionNames<MemoryTierOptions>

/**
 * Keeps entries in this process and loses them with it: for caches that need no persistence, and for
 * tests. Encoded entries are several times smaller than the objects they stand for.
 */
class MemoryTier implements CacheTier {
  readonly #clock: Clock
  readonly #maxBytes: number
  /** The entries in order of last use. */
  readonly #entries = new Map<string, Stored>()
  /** The keys that were made from a key. */
  readonly #derived = new Map<string, Set<string>>()
  #bytes = 0
  #lastVersion = 0
  #evicted = 0

  constructor(options: MemoryTierOptions) {
    checkOptions(options, optionNames)
    this.#clock = (options.kernel ?? systemKernel).clock
    this.#maxBytes = checkCount('maxBytes', options.maxBytes ?? 256 * 2 ** 20)
  }

  open(): Promise<number> {
    return Promise.resolve(this.#lastVersion)
  }

  read(key: string): Promise<TierEntry | undefined> {
    const entry = this.#entries.get(key)
    if (entry === undefined) return Promise.resolve(undefined)
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return Promise.resolve(entry)
  }

  peek(key: string): Promise<TierMeta | undefined> {
    return Promise.resolve(this.#entries.get(key))
  }

  async write(key: string, entry: TierWrite): Promise<boolean> {
    const body =
      entry.body instanceof Uint8Array ? entry.body : await collect(entry.body, this.#clock)
    const bytes = key.length + body.length
    if (bytes > this.#maxBytes) {
      const limit = this.#maxBytes
      throw new HeddleError('HDL_VALUE_TOO_LARGE', { key, bytes, limit })
    }
    // An entry that fills the tier alone fits: its overhead does not count.
    const size = Math.min(bytes + overhead, this.#maxBytes)
    this.#lastVersion = Math.max(this.#lastVersion, entry.version)
    const existed = this.#remove(key)
    this.#removeDerived(key, entry.version)
    this.#entries.set(key, { ...entry, body, size })
    this.#bytes += size
    if (entry.parent !== undefined) this.#derivedOf(entry.parent.key).add(key)
    if (this.#bytes > this.#maxBytes) this.#evict()
    return existed
  }

  delete(key: string, version: number): Promise<boolean> {
    this.#lastVersion = Math.max(this.#lastVersion, version)
    this.#removeDerived(key, version)
    return Promise.resolve(this.#remove(key))
  }

  clear(): Promise<void> {
    this.#entries.clear()
    this.#derived.clear()
    this.#bytes = 0
    return Promise.resolve()
  }

  stats(): TierStats {
    return {
      entries: this.#entries.size,
      bytes: this.#bytes,
      maxBytes: this.#maxBytes,
      evicted: { bytes: this.#evicted, expired: 0, damaged: 0 },
    }
  }

  close(): Promise<void> {
    return this.clear()
  }

  #evict(): void {
    for (const key of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#evicted++
      this.#removeDerived(key, Infinity)
      this.#remove(key)
    }
  }

  #remove(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#bytes -= entry.size
    const { parent } = entry
    const siblings = parent === undefined ? undefined : this.#derived.get(parent.key)
    siblings?.delete(key)
    if (siblings?.size === 0) this.#derived.delete(parent!.key)
    return true
  }

  /** Removes entries made from an earlier version. */
  #removeDerived(parent: string, version: number): void {
    for (const key of this.#derived.get(parent) ?? []) {
      if (this.#entries.get(key)!.parent!.version < version) this.#remove(key)
    }
  }

  #derivedOf(parent: string): Set<string> {
    let keys = this.#derived.get(parent)
    if (keys === undefined) this.#derived.set(parent, (keys = new Set()))
    return keys
  }
}

async function collect(
  pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  for await (const piece of pieces) {
    parts.push(piece)
    length += piece.length
  }
  const whole = new Uint8Array(length)
  const slices = new Slices(clock, 1)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
    if (slices.due) await slices.next()
  }
  return whole
}

/** A tier in memory. */
export function memoryTier(options: MemoryTierOptions = {}): CacheTier {
  return new MemoryTier(options)
}
