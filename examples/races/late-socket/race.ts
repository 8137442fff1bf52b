export interface Connection {
  destroy(): void
}

/** Accepts sockets and closes them all at the end. */
export class Listener {
  readonly #upgrade: () => Promise<Connection>
  readonly #connections = new Set<Connection>()

  constructor(upgrade: () => Promise<Connection>) {
    this.#upgrade = upgrade
  }

  async onSocket(): Promise<void> {
    const connection = await this.#upgrade()
    this.#connections.add(connection)
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.destroy()
    this.#connections.clear()
  }
}
