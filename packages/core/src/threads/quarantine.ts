/** Keys that have ended threads, and how often in a row. */
export class Quarantine {
  readonly #limit: number
  readonly #crashes = new Map<string, number>()

  /** Keys remembered at a time, so that one key per request cannot fill the memory. */
  static readonly mostKeys = 1000

  constructor(limit: number) {
    this.#limit = limit
  }

  /** How many crashes in a row, when there were enough to keep the key from starting again. */
  crashesOf(key: string): number | undefined {
    const crashes = this.#crashes.get(key)
    return crashes !== undefined && crashes >= this.#limit ? crashes : undefined
  }

  /** True when the key has just reached the limit. */
  crashed(key: string): boolean {
    const crashes = (this.#crashes.get(key) ?? 0) + 1
    // Deleted first, so that the order of the map is the order of the last crash.
    this.#crashes.delete(key)
    this.#crashes.set(key, crashes)
    if (this.#crashes.size > Quarantine.mostKeys) this.#forgetOldest()
    return crashes === this.#limit
  }

  /** A run that left its thread alive ends the row. */
  survived(key: string): void {
    if (this.#crashes.size > 0) this.#crashes.delete(key)
  }

  /** False when nothing was known of the key. */
  release(key: string): boolean {
    return this.#crashes.delete(key)
  }

  keys(): string[] {
    return [...this.#crashes].filter(([, crashes]) => crashes >= this.#limit).map(([key]) => key)
  }

  /** The oldest that is not in quarantine, or the oldest of all: a poison key outlives a suspect. */
  #forgetOldest(): void {
    let oldest: string | undefined
    for (const [key, crashes] of this.#crashes) {
      oldest ??= key
      if (crashes < this.#limit) {
        oldest = key
        break
      }
    }
    if (oldest !== undefined) this.#crashes.delete(oldest)
  }
}
