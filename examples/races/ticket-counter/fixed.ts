import { EventEmitter } from 'node:events'

/** Sells a limited number of tickets and notifies its listeners, when the sale is counted. */
export class Tickets extends EventEmitter {
  #left: number

  constructor(left: number) {
    super()
    this.#left = left
  }

  get left(): number {
    return this.#left
  }

  sell(): boolean {
    if (this.#left === 0) return false
    this.#left = this.#left - 1
    this.emit('sold')
    return true
  }
}
