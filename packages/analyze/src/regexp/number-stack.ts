/**
 * Whole numbers, last in, first out, for a loop that does little else. An array gives its room back when
 * it is emptied, which a search does at every start, and has to ask for it again.
 */
const firstRoom = 256

export class NumberStack {
  size = 0
  #room = new Int32Array(firstRoom)

  push(value: number): void {
    if (this.size === this.#room.length) this.#grow()
    this.#room[this.size] = value
    this.size += 1
  }

  /** The caller knows that there is one. */
  pop(): number {
    this.size -= 1
    return this.#room[this.size] as number
  }

  #grow(): void {
    const larger = new Int32Array(2 * this.#room.length)
    larger.set(this.#room)
    this.#room = larger
  }
}
