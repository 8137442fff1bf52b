export interface Storage {
  removeOld(): Promise<number>
  close(): Promise<void>
}

/** Removes what is old when the application is idle. */
export class Cleaner {
  readonly #idle: () => Promise<void>
  #storage: Storage | undefined

  constructor(storage: Storage, idle: () => Promise<void>) {
    this.#storage = storage
    this.#idle = idle
  }

  async clean(): Promise<number> {
    const storage = this.#storage
    if (storage === undefined) return 0
    await this.#idle()
    return storage.removeOld()
  }

  async close(): Promise<void> {
    const storage = this.#storage
    this.#storage = undefined
    await storage?.close()
  }
}
