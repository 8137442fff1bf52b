export interface Session {
  end(): void
}

/** Opens its session when it is first needed. */
export class Database {
  readonly #open: () => Promise<Session>
  #session: Session | undefined

  constructor(open: () => Promise<Session>) {
    this.#open = open
  }

  async session(): Promise<Session> {
    if (this.#session === undefined) {
      this.#session = await this.#open()
    }
    return this.#session
  }

  async close(): Promise<void> {
    this.#session?.end()
    this.#session = undefined
  }
}
