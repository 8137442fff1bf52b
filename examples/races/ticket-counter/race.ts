import { EventEmitter } from 'node:events'

/** Sells a limited number of tickets and notifies its listeners. */
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
    this.emit('sold')
    this.#left = this.#left - 1
    return true
  }
}
