import { existsSync } from 'node:fs'
import path from 'node:path'

const names = ['tsconfig.json', 'jsconfig.json']

/** Finds the tsconfig that is nearest to a file, going up. Caches its answers. */
export class NearestTsconfig {
  readonly #known = new Map<string, string | undefined>()

  of(file: string): string | undefined {
    return this.#in(path.dirname(file))
  }

  #in(folder: string): string | undefined {
    if (this.#known.has(folder)) return this.#known.get(folder)
    const parent = path.dirname(folder)
    const own = names.map((name) => path.join(folder, name)).find((file) => existsSync(file))
    const config = own ?? (parent === folder ? undefined : this.#in(parent))
    this.#known.set(folder, config)
    return config
  }
}
