/**
 * Gathers the messages of a link: one frame for all messages of the same turn of the loop, at most 256 of them and
 * about a mebibyte. Without a timer, as group commit (core/src/store/committer.ts): a single call waits for the end of
 * the turn only.
 */
import type { Clock } from '@heddle/core/lowlevel'

const mostInGroup = 256
const mostBytes = 2 ** 20

export class Group<T extends { readonly body: Buffer }> {
  readonly #clock: Clock
  readonly #send: (group: readonly T[]) => void
  #waiting: T[] = []
  #bytes = 0
  #isPlanned = false
  #groups = 0
  #sent = 0

  constructor(clock: Clock, send: (group: readonly T[]) => void) {
    this.#clock = clock
    this.#send = send
  }

  add(item: T): void {
    this.#waiting.push(item)
    this.#bytes += item.body.length
    if (this.#waiting.length >= mostInGroup || this.#bytes >= mostBytes) this.#flush()
    else if (!this.#isPlanned) {
      this.#isPlanned = true
      this.#clock.afterIo(this.#flushPlanned)
    }
  }

  stats(): { readonly groups: number; readonly sent: number } {
    return { groups: this.#groups, sent: this.#sent }
  }

  readonly #flushPlanned = (): void => {
    this.#isPlanned = false
    this.#flush()
  }

  #flush(): void {
    const group = this.#waiting
    if (group.length === 0) return
    this.#waiting = []
    this.#bytes = 0
    this.#groups++
    this.#sent += group.length
    this.#send(group)
  }
}
