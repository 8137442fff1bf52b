/** Keeps the last bytes of an output, however long it is (law 4). */
export class Tail {
  readonly #limit: number
  #chunks: Buffer[] = []
  #size = 0
  #dropped = false

  constructor(limit: number) {
    this.#limit = limit
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    while (this.#size - this.#chunks[0]!.length >= this.#limit) {
      this.#size -= this.#chunks.shift()!.length
      this.#dropped = true
    }
  }

  /** The text, with an ellipsis where something was dropped. */
  get text(): string {
    const all = Buffer.concat(this.#chunks)
    const cut = this.#dropped || all.length > this.#limit
    return `${cut ? '…' : ''}${all.subarray(-this.#limit).toString()}`
  }
}
