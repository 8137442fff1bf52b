import type { ReadRoutes } from './race.ts'

/** Where requests go; reloaded while the server runs, from one whole table to the next. */
export class Routes {
  readonly #read: ReadRoutes
  #targets: ReadonlyMap<string, string> = new Map()

  constructor(read: ReadRoutes) {
    this.#read = read
  }

  async reload(): Promise<void> {
    const routes = await this.#read()
    this.#targets = new Map(routes)
  }

  resolve(path: string): string | undefined {
    return this.#targets.get(path)
  }
}
