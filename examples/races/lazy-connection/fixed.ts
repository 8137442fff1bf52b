import type { Session } from './race.ts'

/** Opens its session when it is first needed. All callers in the meantime wait for the same one. */
export class Database {
  readonly #open: () => Promise<Session>
  #session: Promise<Session> | undefined

  constructor(open: () => Promise<Session>) {
    this.#open = open
  }

  session(): Promise<Session> {
    this.#session ??= this.#open()
    return this.#session
  }

  async close(): Promise<void> {
    const opening = this.#session
    this.#session = undefined
    const session = await opening
    session?.end()
  }
}
