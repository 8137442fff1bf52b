/**
 * Entries on disk: rows of SQLite for most, files beside it for large ones, both in a thread of
 * their own. The loop only sends and receives messages.
 *
 *   closed ── open() ──▶ open ── close() ──▶ closed
 *                        │  ▲
 *          thread ended  ▼  │ next operation
 *                       broken
 *
 * Operations of one turn of the loop travel in one message, and everything that has arrived in the thread goes
 * into one commit. A large value travels in pieces, with at most 4 MiB of it under way.
 *
 * Ownership: bytes to be written are given away; below 16 KiB they are copied, because that is
 * cheaper. Bytes that were read are given to the loop.
 */
import { hash } from 'node:crypto'
import { HeddleError } from '../../errors.ts'
import { checkCount, checkName, checkOptions, type OptionNames } from '../../kernel/check.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemKernel, type Kernel } from '../../kernel/kernel.ts'
import { threadFile } from '../../kernel/thread-file.ts'
import { formatVersion } from '../../codec/tags.ts'
import { HostLink } from '../../sqlite/host-link.ts'
import type { CacheTier, TierEntry, TierMeta, TierStats, TierWrite } from '../tier.ts'
import {
  maxRowBytes,
  type DiskChange,
  type DiskQuestion,
  type DiskThreadData,
  type WireMeta,
} from './disk/disk-messages.ts'

export interface DiskTierOptions {
  /** Where the cache makes its own directory. It may hold other caches and other things. */
  readonly directory: string
  /**
   * What the values depend on besides their keys, for example the version of a model. Caches with
   * different namespaces do not see each other's entries. Plain data.
   */
  readonly namespace?: unknown
  /** Bytes of keys and values. 1 GiB when absent. */
  readonly maxBytes?: number | undefined
  /**
   * What an acknowledged change survives: `fsync` also power loss, `process` the end of this process
   * only. `fsync` when absent.
   */
  readonly durability?: 'fsync' | 'process' | undefined
  readonly kernel?: Kernel | undefined
}

const optionNames = {
  directory: 1,
  namespace: 1,
  maxBytes: 1,
  durability: 1,
  kernel: 1,
} satisfies OptionNames<DiskTierOptions>

class DiskTier implements CacheTier {
  readonly #clock: Clock
  readonly #data: DiskThreadData
  #link: HostLink | undefined
  #state: 'new' | 'open' | 'closed' = 'new'
  #stats: TierStats

  constructor(options: DiskTierOptions) {
    checkOptions(options, optionNames)
    this.#clock = (options.kernel ?? systemKernel).clock
    const { namespace } = options
    const suffix = hash('sha256', canonical(namespace), 'hex').slice(0, 16)
    this.#data = {
      directory: checkName('directory', options.directory),
      name: `heddle-cache-v${formatVersion}-${suffix}`,
      maxBytes: checkCount('maxBytes', options.maxBytes ?? 2 ** 30),
      durable: options.durability !== 'process',
    }
    const evicted = { bytes: 0, expired: 0, damaged: 0 }
    this.#stats = { entries: 0, bytes: 0, maxBytes: this.#data.maxBytes, evicted }
  }

  open(): Promise<number> {
    this.#state = 'open'
    return this.#start()
  }

  async read(key: string): Promise<TierEntry | undefined> {
    return (await this.#usable().ask(question('read', key))) as TierEntry | undefined
  }

  async peek(key: string): Promise<TierMeta | undefined> {
    return (await this.#usable().ask(question('peek', key))) as TierMeta | undefined
  }

  async write(key: string, entry: TierWrite): Promise<boolean> {
    const { version, createdAt, ttl, parent, body } = entry
    const meta: WireMeta = { key, version, createdAt, ttl, parent }
    if (!(body instanceof Uint8Array)) {
      return (await this.#usable().stream(meta, this.#checked(key, body))) as boolean
    }
    this.#checkSize(key, body.length)
    if (body.length > maxRowBytes) return (await this.#usable().stream(meta, [body])) as boolean
    const change: DiskChange = { type: 'write', meta, body }
    return (await this.#usable().change(change, body)) as boolean
  }

  async delete(key: string, version: number): Promise<boolean> {
    const change: DiskChange = { type: 'delete', key, version }
    return (await this.#usable().change(change)) as boolean
  }

  async clear(): Promise<void> {
    const change: DiskChange = { type: 'clear' }
    await this.#usable().change(change)
  }

  stats(): TierStats {
    return this.#stats
  }

  async close(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#state = 'closed'
    const link = this.#link
    this.#link = undefined
    await link?.stop(options)
  }

  async *#checked(
    key: string,
    pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
    let bytes = 0
    for await (const piece of pieces) {
      bytes += piece.length
      this.#checkSize(key, bytes)
      yield piece
    }
  }

  #checkSize(key: string, bytes: number): void {
    const size = bytes + Buffer.byteLength(key)
    const limit = this.#data.maxBytes
    if (size > limit) throw new HeddleError('HDL_VALUE_TOO_LARGE', { key, bytes: size, limit })
  }

  #usable(): HostLink {
    if (this.#state !== 'open') throw new HeddleError('HDL_CLOSED', { what: 'The disk tier' })
    // The thread has ended; acknowledged changes are on disk, so a new one can continue. When it cannot,
    // the request fails with it.
    if (this.#link === undefined) this.#start().catch(() => undefined)
    return this.#link!
  }

  async #start(): Promise<number> {
    const link = new HostLink({
      entry: threadFile('diskCache'),
      name: 'heddle-cache',
      data: { ...this.#data, role: 'diskCache' },
      store: this.#data.directory,
      what: 'The disk tier',
      clock: this.#clock,
      gather: 'turn',
      onReport: (stats) => (this.#stats = stats as TierStats),
      onEnd: () => this.#forget(link),
    })
    this.#link = link
    try {
      return (await link.open()) as number
    } catch (error) {
      this.#forget(link)
      await link.kill()
      throw error
    }
  }

  #forget(link: HostLink): void {
    if (this.#link === link) this.#link = undefined
  }
}

function question(type: DiskQuestion['type'], key: string): DiskQuestion {
  return { type, key }
}

/** The same text for the same data, whatever the order in which keys were added. */
function canonical(value: unknown): string {
  const sorted = (_key: string, item: unknown): unknown =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item
  const text = JSON.stringify(value ?? null, sorted) as string | undefined
  if (text !== undefined) return text
  const expected = 'plain data'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'namespace', value, expected })
}

/**
 * A tier on disk, for one process at a time: a second one is refused with `HDL_LOCKED`.
 *
 * @example
 * const tier = diskTier({ directory: 'cache', namespace: { model: '2026-07' }, maxBytes: 2 ** 30 })
 * await using cache = await openCache({ tier })
 */
export function diskTier(options: DiskTierOptions): CacheTier {
  return new DiskTier(options)
}
