import type { Storage } from './race.ts'

/** Removes what is old when the application is idle, and looks for the storage only then. */
export class Cleaner {
  readonly #idle: () => Promise<void>
  #storage: Storage | undefined

  constructor(storage: Storage, idle: () => Promise<void>) {
    this.#storage = storage
    this.#idle = idle
  }

  async clean(): Promise<number> {
    await this.#idle()
    const storage = this.#storage
    if (storage === undefined) return 0
    return storage.removeOld()
  }

  async close(): Promise<void> {
    const storage = this.#storage
    this.#storage = undefined
    await storage?.close()
  }
}
