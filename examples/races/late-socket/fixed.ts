import type { Connection } from './race.ts'

/** Accepts sockets and closes them all at the end, also those that come late. */
export class Listener {
  readonly #upgrade: () => Promise<Connection>
  readonly #connections = new Set<Connection>()
  #isClosed = false

  constructor(upgrade: () => Promise<Connection>) {
    this.#upgrade = upgrade
  }

  async onSocket(): Promise<void> {
    const connection = await this.#upgrade()
    if (this.#isClosed) {
      connection.destroy()
      return
    }
    this.#connections.add(connection)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const connection of this.#connections) connection.destroy()
    this.#connections.clear()
  }
}
