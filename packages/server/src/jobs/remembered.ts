/** Why a computation, or one of its results, failed; and whose it was. */
export interface Failure {
  readonly tenant: string
  readonly error: Error
}

/** Remembers the last entries by key, up to a number: older ones are forgotten. */
export class Remembered<V> {
  readonly #most: number
  /** A Map keeps the order of insertion. */
  readonly #values = new Map<string, V>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): V | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: V): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size <= this.#most) return
    const [oldest] = this.#values.keys()
    this.#values.delete(oldest!)
  }

  delete(key: string): void {
    this.#values.delete(key)
  }

  clear(): void {
    this.#values.clear()
  }
}
