/**
 * Calls that wait for their turn are made as one.
 *
 *     call ──▶ waiting, with others that fit ──(its turn: take)──▶ sent ──▶ answered, each with its own answer
 *
 * Invariants:
 *  G1  Nothing waits for company: the first call is queued at once, and others join it only until its turn comes.
 *  G2  Calls that are made one after the other, each after the answer to the last, are carried out in that order. Calls
 *      that overlap have no order.
 *  G3  Every call gets its own answer, or the error of its batch.
 */

/**
 * Sends what `take` gives, which it calls once, when it is its turn. The answers are in the same order. One that is a promise is
 * waited for by its own call alone.
 */
type Send<Call, Answer> = (
  take: () => readonly Call[],
) => Promise<readonly (Answer | Promise<Answer>)[]>

interface Waiting<Call, Answer> {
  readonly calls: Call[]
  readonly answers: Promise<readonly (Answer | Promise<Answer>)[]>
}

export class Gather<Call, Answer> {
  readonly #send: Send<Call, Answer>
  readonly #fits: (together: readonly Call[], next: Call) => boolean
  #waiting: Waiting<Call, Answer> | undefined

  /** @param fits Whether the next call can be made together with these. A call alone always can. */
  constructor(send: Send<Call, Answer>, fits: (together: readonly Call[], next: Call) => boolean) {
    this.#send = send
    this.#fits = fits
  }

  async call(call: Call): Promise<Answer> {
    if (this.#waiting !== undefined && !this.#fits(this.#waiting.calls, call)) {
      this.#waiting = undefined
    }
    const { calls, answers } = (this.#waiting ??= this.#begin())
    const index = calls.push(call) - 1
    return (await answers)[index]!
  }

  #begin(): Waiting<Call, Answer> {
    const calls: Call[] = []
    const answers = this.#send(() => {
      if (this.#waiting?.calls === calls) this.#waiting = undefined
      return calls
    })
    return { calls, answers }
  }
}
