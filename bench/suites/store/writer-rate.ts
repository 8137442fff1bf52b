import type { Ledger } from '../journal/contract.ts'

/** Keeps a writer busy, and says how fast it is. */
export class WriterRate {
  #done = 0
  #isOver = false
  readonly #lanes: Promise<unknown>

  /** `inFlight` nodes are on their way at a time; each waits for its success. */
  constructor(ledger: Ledger, inFlight: number) {
    let nodes = 0
    const lane = async (): Promise<void> => {
      while (!this.#isOver) {
        const node = `node ${nodes++ % 1000}`
        ledger.append(node, 0)
        ledger.append(node, 1)
        await ledger.commit(node, 2)
        this.#done += 3
      }
    }
    this.#lanes = Promise.all(Array.from({ length: inFlight }, lane))
  }

  /** Transitions a second until `until` has settled. */
  async during(until: Promise<unknown>): Promise<number> {
    const [done, start] = [this.#done, performance.now()]
    await until
    return ((this.#done - done) / (performance.now() - start)) * 1000
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#lanes
  }
}
