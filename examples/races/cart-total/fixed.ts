/** Adds up the prices of what is put into it. */
export class Cart {
  readonly #priceOf: (item: string) => Promise<number>
  #total = 0

  constructor(priceOf: (item: string) => Promise<number>) {
    this.#priceOf = priceOf
  }

  get total(): number {
    return this.#total
  }

  async add(item: string): Promise<void> {
    const price = await this.#priceOf(item)
    this.#total += price
  }
}
