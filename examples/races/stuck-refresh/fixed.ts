/** Keeps a rate that is refreshed now and then, by one caller at a time. */
export class Rate {
  readonly #fetch: () => Promise<number>
  #isRefreshing = false
  #value = 0

  constructor(fetch: () => Promise<number>) {
    this.#fetch = fetch
  }

  get value(): number {
    return this.#value
  }

  async refresh(): Promise<boolean> {
    if (this.#isRefreshing) return false
    this.#isRefreshing = true
    try {
      const value = await this.#fetch()
      this.#value = value
    } finally {
      this.#isRefreshing = false
    }
    return true
  }
}
