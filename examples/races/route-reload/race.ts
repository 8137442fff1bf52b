export type ReadRoutes = () => Promise<readonly (readonly [path: string, target: string])[]>

/** Where requests go; reloaded while the server runs. */
export class Routes {
  readonly #read: ReadRoutes
  readonly #targets = new Map<string, string>()

  constructor(read: ReadRoutes) {
    this.#read = read
  }

  async reload(): Promise<void> {
    this.#targets.clear()
    const routes = await this.#read()
    for (const [path, target] of routes) this.#targets.set(path, target)
  }

  resolve(path: string): string | undefined {
    return this.#targets.get(path)
  }
}
