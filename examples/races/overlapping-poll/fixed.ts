import type { Change } from './race.ts'

/** Copies changes from a server, every second; a round that takes longer is not overtaken. */
export class Sync {
  readonly #fetch: (after: number) => Promise<readonly Change[]>
  readonly #store: (changes: readonly Change[]) => Promise<void>
  #last = 0
  #isRunning = false
  #timer: NodeJS.Timeout | undefined

  constructor(
    fetch: (after: number) => Promise<readonly Change[]>,
    store: (changes: readonly Change[]) => Promise<void>,
  ) {
    this.#fetch = fetch
    this.#store = store
  }

  start(): void {
    // oxlint-disable-next-line typescript/no-misused-promises -- nobody waits for a round: that is the subject
    this.#timer = setInterval(async () => {
      if (this.#isRunning) return
      this.#isRunning = true
      try {
        const changes = await this.#fetch(this.#last)
        await this.#store(changes)
        this.#last = changes.at(-1)?.id ?? this.#last
      } finally {
        this.#isRunning = false
      }
    }, 1_000)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
