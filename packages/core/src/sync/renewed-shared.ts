/** Shared resources that can fail while they are used. */
import { Shared, type Lease, type SharedOptions } from './shared.ts'

export interface RenewedSharedOptions<V> extends SharedOptions<string, V> {
  /** Whether a resource has failed for good. */
  readonly isFailed: (value: V) => boolean
}

/** As `Shared`, but new users of a key get a new resource when the one before has failed: both then exist side by side. */
export class RenewedShared<V> {
  readonly #shared: Shared<string, V>
  readonly #isFailed: (value: V) => boolean
  /** How many resources of a key have failed. */
  readonly #failures = new Map<string, number>()

  constructor({ isFailed, ...options }: RenewedSharedOptions<V>) {
    this.#isFailed = isFailed
    const keyOf = (counted: string): string => counted.slice(counted.indexOf(' ') + 1)
    this.#shared = new Shared<string, V>({
      ...options,
      open: (counted, context) => options.open(keyOf(counted), context),
      close: (value, counted) => options.close(value, keyOf(counted)),
    })
  }

  /**
   * Waits until a resource of the key is open that has not failed.
   *
   * *Cancellation*: none; it waits for the open.
   */
  async use(key: string): Promise<Lease<string, V>> {
    for (;;) {
      const failed = this.#failures.get(key) ?? 0
      const lease = await this.#shared.use(`${failed} ${key}`)
      if (!this.#isFailed(lease.value)) return lease
      // Counted once, however many users notice it.
      if ((this.#failures.get(key) ?? 0) === failed) this.#failures.set(key, failed + 1)
      lease.release()
    }
  }

  /**
   * Closes all resources once their leases are given back.
   *
   * *Cancellation*: none; it waits for the users.
   */
  close(): Promise<void> {
    return this.#shared.close()
  }
}
