import { Mutex } from '@heddle/core/lowlevel'

export type Save = (entries: readonly string[]) => Promise<void>

/** A list that is on disk as it is in memory. */
export class SavedList {
  readonly #lock = new Mutex()
  readonly #save: Save
  #entries: readonly string[] = []

  constructor(save: Save) {
    this.#save = save
  }

  get entries(): readonly string[] {
    return this.#entries
  }

  async add(entry: string): Promise<void> {
    using _held = await this.#lock.acquire()
    const entries = [...this.#entries, entry]
    await this.#save(entries)
    this.#entries = entries
  }

  async remove(entry: string): Promise<void> {
    using _held = await this.#lock.acquire()
    const entries = this.#entries.filter((each) => each !== entry)
    await this.#save(entries)
    this.#entries = entries
  }

  async clear(): Promise<void> {
    await this.#save([])
    this.#entries = []
  }
}
