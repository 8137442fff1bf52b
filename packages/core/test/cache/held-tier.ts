import { memoryTier } from '../../src/cache/tiers/memory-tier.ts'
import type { CacheTier, TierEntry, TierMeta, TierStats, TierWrite } from '../../src/cache/tier.ts'

type Operation = 'read' | 'peek' | 'write' | 'delete' | 'clear' | 'compute'

/** An operation that happens when the test says so, and is answered when the test says so. */
export class HeldOperation {
  readonly type: Operation
  readonly key: string
  #work: (() => Promise<unknown>) | undefined
  #result: Promise<unknown> | undefined
  readonly #outcome = Promise.withResolvers<unknown>()
  readonly #done: () => void

  constructor(type: Operation, key: string, work: () => Promise<unknown>, done: () => void) {
    this.type = type
    this.key = key
    this.#work = work
    this.#done = done
  }

  get promise(): Promise<unknown> {
    return this.#outcome.promise
  }

  get hasHappened(): boolean {
    return this.#result !== undefined
  }

  /** It takes effect on the tier, or reads the tier's current state. */
  happen(): void {
    this.#result ??= this.#work!()
    this.#work = undefined
  }

  /** The cache gets the answer. */
  answer(): void {
    this.happen()
    this.#done()
    this.#outcome.resolve(this.#result)
  }

  /** The operation does not happen, and the cache gets an error. */
  fail(error: unknown): void {
    this.#done()
    this.#outcome.reject(error)
  }
}

/** A tier that holds each operation until the test lets it happen, on top of a real tier. */
export class HeldTier implements CacheTier {
  readonly inner: CacheTier
  /** The operations not answered yet, in order of arrival. */
  readonly held: HeldOperation[] = []
  /** All operations that ever came. */
  readonly log: string[] = []
  /** When false, operations happen and are answered at once. */
  isHolding: boolean

  constructor(isHolding = true, inner: CacheTier = memoryTier()) {
    this.isHolding = isHolding
    this.inner = inner
  }

  /** The first operation of this kind that is held. */
  find(type: Operation, key?: string): HeldOperation {
    const found = this.held.find((held) => held.type === type && (key ?? held.key) === held.key)
    if (found === undefined) throw new Error(`No ${type} of ${key ?? 'anything'} is held`)
    return found
  }

  /** Answers everything that is held, in order, and from now on at once. */
  release(): void {
    this.isHolding = false
    for (const held of this.held.slice()) held.answer()
  }

  open(): Promise<number> {
    return this.inner.open()
  }

  read(key: string): Promise<TierEntry | undefined> {
    return this.#hold('read', key, () => this.inner.read(key)) as Promise<TierEntry | undefined>
  }

  peek(key: string): Promise<TierMeta | undefined> {
    return this.#hold('peek', key, () => this.inner.peek(key)) as Promise<TierMeta | undefined>
  }

  write(key: string, entry: TierWrite): Promise<boolean> {
    return this.#hold('write', key, () => this.inner.write(key, entry)) as Promise<boolean>
  }

  delete(key: string, version: number): Promise<boolean> {
    return this.#hold('delete', key, () => this.inner.delete(key, version)) as Promise<boolean>
  }

  clear(): Promise<void> {
    return this.#hold('clear', '', () => this.inner.clear()) as Promise<void>
  }

  /** Work of the test itself that ends when the test says so. */
  compute(key: string): Promise<unknown> {
    return this.#hold('compute', key, () => Promise.resolve())
  }

  stats(): TierStats {
    return this.inner.stats()
  }

  close: CacheTier['close'] = () => {
    return Promise.resolve()
  }

  #hold(type: Operation, key: string, work: () => Promise<unknown>): Promise<unknown> {
    this.log.push(key === '' ? type : `${type} ${key}`)
    if (!this.isHolding) return work()
    const operation = new HeldOperation(type, key, work, () => {
      this.held.splice(this.held.indexOf(operation), 1)
    })
    this.held.push(operation)
    return operation.promise
  }
}
