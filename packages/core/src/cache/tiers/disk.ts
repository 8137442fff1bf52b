/**
 * Entries on disk: rows of SQLite for most, files beside it for large ones, both in a thread of
 * their own. The loop only sends and receives messages.
 *
 *   closed ── open() ──▶ open ── close() ──▶ closed
 *                        │  ▲
 *          thread ended  ▼  │ next operation
 *                       broken
 *
 * Operations of one tick travel in one message, and everything that has arrived in the thread goes
 * into one commit. A large value travels in pieces, with at most 4 MiB of it under way.
 *
 * Ownership: bytes to be written are given away; below 16 KiB they are copied, because that is
 * cheaper. Bytes that were read are given to the loop.
 */
import { hash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { HeddleError, describe } from '../../errors.ts'
import { checkCount, checkName, checkOptions, type OptionNames } from '../../kernel/check.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemKernel, type Kernel } from '../../kernel/kernel.ts'
import { formatVersion } from '../../codec/tags.ts'
import { giveAway } from '../../sqlite/own-bytes.ts'
import type { CacheTier, TierEntry, TierMeta, TierStats, TierWrite } from '../tier.ts'
import {
  maxRowBytes,
  windowBytes,
  type AnswerValue,
  type DiskAnswer,
  type DiskAnswers,
  type DiskBatch,
  type DiskRequest,
  type DiskThreadData,
  type WireMeta,
} from './disk/messages.ts'

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

const threadFile = new URL(
  import.meta.url.endsWith('.ts') ? './disk/disk-thread.ts' : './disk/disk-thread.js',
  import.meta.url,
)

/** A large value on its way. */
interface Window {
  /** Bytes sent that the thread has not written yet. */
  open: number
  /** Called when it has written some. */
  goOn: (() => void) | undefined
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
  readonly #pending = new Map<number, PromiseWithResolvers<AnswerValue>>()
  readonly #windows = new Map<number, Window>()
  #worker: Worker | undefined
  #state: 'new' | 'open' | 'closed' = 'new'
  #lastId = 0
  #outbox: DiskRequest[] = []
  #transfer: ArrayBuffer[] = []
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
    return (await this.#ask({ id: this.#id(), type: 'read', key })) as TierEntry | undefined
  }

  async peek(key: string): Promise<TierMeta | undefined> {
    return (await this.#ask({ id: this.#id(), type: 'peek', key })) as TierMeta | undefined
  }

  async write(key: string, entry: TierWrite): Promise<boolean> {
    const { version, createdAt, ttl, parent, body } = entry
    const meta: WireMeta = { key, version, createdAt, ttl, parent }
    if (!(body instanceof Uint8Array)) return this.#stream(meta, body)
    this.#checkSize(key, body.length)
    if (body.length > maxRowBytes) return this.#stream(meta, [body])
    return (await this.#ask({ id: this.#id(), type: 'write', meta, body }, body)) as boolean
  }

  async delete(key: string, version: number): Promise<boolean> {
    return (await this.#ask({ id: this.#id(), type: 'delete', key, version })) as boolean
  }

  async clear(): Promise<void> {
    await this.#ask({ id: this.#id(), type: 'clear' })
  }

  stats(): TierStats {
    return this.#stats
  }

  async close(): Promise<void> {
    this.#state = 'closed'
    if (this.#worker === undefined) return
    await this.#ask({ id: this.#id(), type: 'close' })
    await this.#worker.terminate()
  }

  async #stream(
    meta: WireMeta,
    pieces: AsyncIterable<Uint8Array<ArrayBuffer>> | readonly Uint8Array<ArrayBuffer>[],
  ): Promise<boolean> {
    const id = this.#id()
    const window: Window = { open: 0, goOn: undefined }
    const outcome = this.#ask({ id, type: 'begin', meta })
    // Heard at the end; until then a failure only stops the sending.
    outcome.catch(() => window.goOn?.())
    this.#windows.set(id, window)
    let bytes = 0
    try {
      for await (const piece of pieces) {
        bytes += piece.length
        this.#checkSize(meta.key, bytes)
        if (!this.#pending.has(id)) break
        window.open += piece.length
        this.#send({ id, type: 'piece', bytes: piece }, piece)
        while (window.open >= windowBytes && this.#pending.has(id)) {
          await new Promise<void>((goOn) => (window.goOn = goOn))
        }
      }
    } catch (error) {
      if (this.#pending.has(id)) this.#send({ id, type: 'abort' })
      await outcome
      throw error
    } finally {
      this.#windows.delete(id)
    }
    if (this.#pending.has(id)) this.#send({ id, type: 'end' })
    return (await outcome) as boolean
  }

  #checkSize(key: string, bytes: number): void {
    const size = bytes + Buffer.byteLength(key)
    const limit = this.#data.maxBytes
    if (size > limit) throw new HeddleError('HDL_VALUE_TOO_LARGE', { key, bytes: size, limit })
  }

  #id(): number {
    return ++this.#lastId
  }

  #ask(request: DiskRequest, bytes?: Uint8Array<ArrayBuffer>): Promise<AnswerValue> {
    if (this.#worker === undefined) {
      if (this.#state !== 'open') {
        return Promise.reject(new HeddleError('HDL_CLOSED', { what: 'The disk tier' }))
      }
      // The thread has ended; what was acknowledged is on disk, so a new one can go on. When it
      // cannot, the request fails with it.
      this.#start().catch(() => undefined)
    }
    const answer = Promise.withResolvers<AnswerValue>()
    this.#pending.set(request.id, answer)
    // Only an operation under way keeps the process alive.
    if (this.#pending.size === 1) this.#worker?.ref()
    this.#send(request, bytes)
    return answer.promise
  }

  #send(request: DiskRequest, bytes?: Uint8Array<ArrayBuffer>): void {
    this.#outbox.push(request)
    if (bytes !== undefined) giveAway(bytes, this.#transfer)
    if (this.#outbox.length === 1) void Promise.resolve().then(() => this.#flush())
  }

  /** What was asked for in one tick travels together. */
  #flush(): void {
    const batch: DiskBatch = { now: this.#clock.wallTime(), requests: this.#outbox }
    const transfer = this.#transfer
    this.#outbox = []
    this.#transfer = []
    this.#worker?.postMessage(batch, transfer)
  }

  async #start(): Promise<number> {
    const worker = new Worker(threadFile, {
      name: 'heddle-cache',
      workerData: this.#data,
      // Without the program's own preloads, which may be large and may have effects.
      execArgv: [],
    })
    this.#worker = worker
    worker.on('message', (message: DiskAnswers) => this.#accept(message))
    worker.on('error', (error) => this.#broken(worker, describe(error)))
    worker.on('exit', (code) => this.#broken(worker, `its thread ended with code ${code}`))
    try {
      return (await this.#ask({ id: this.#id(), type: 'open' })) as number
    } catch (error) {
      this.#broken(worker, describe(error), error)
      await worker.terminate()
      throw error
    }
  }

  #accept({ answers, stats }: DiskAnswers): void {
    this.#stats = stats ?? this.#stats
    for (const answer of answers) {
      if ('credit' in answer) this.#credit(answer.id, answer.credit)
      else this.#settle(answer)
    }
    if (this.#pending.size === 0) this.#worker?.unref()
  }

  #credit(id: number, bytes: number): void {
    const window = this.#windows.get(id)
    if (window === undefined) return
    window.open -= bytes
    window.goOn?.()
  }

  #settle(answer: Exclude<DiskAnswer, { credit: number }>): void {
    const waiting = this.#pending.get(answer.id)
    this.#pending.delete(answer.id)
    if ('value' in answer) waiting?.resolve(answer.value)
    else waiting?.reject(new HeddleError(answer.error.code, answer.error.details))
  }

  /** Nothing that was asked of this thread will be answered. */
  #broken(worker: Worker, cause: string, error?: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const details = { store: this.#data.directory, action: 'be used', cause }
    const failure = error ?? new HeddleError('HDL_STORE_FAILED', details)
    const waiting = [...this.#pending.values()]
    this.#pending.clear()
    this.#outbox = []
    this.#transfer = []
    for (const { reject } of waiting) reject(failure)
  }
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
