import { openTypes } from './open-types.ts'
import type { TypesOptions } from './open-types.ts'
import type { ParsedFile } from './parse.ts'
import { SourceCache } from './read-program.ts'
import type { TypeSource } from './types.ts'

/**
 * What is kept between analyses of the same program: trees, and a compiler that is running.
 *
 * The compiler is told of texts that have changed, and is started anew when files come or go: they may
 * change what every import means.
 */
export class AnalysisCache {
  readonly sources: SourceCache = new SourceCache()
  #types: TypeSource | undefined
  #texts: ReadonlyMap<string, string> = new Map()

  /** A compiler that knows the texts of `parsed`. It stays ours: it must not be closed. */
  typesOf(parsed: readonly ParsedFile[], options: TypesOptions): TypeSource {
    const texts = new Map(parsed.map(({ file, text }) => [file, text]))
    const changed = new Map([...texts].filter(([file, text]) => this.#texts.get(file) !== text))
    const isSameProgram =
      texts.size === this.#texts.size && [...texts.keys()].every((file) => this.#texts.has(file))
    this.#texts = texts
    if (this.#types !== undefined && isSameProgram) {
      if (changed.size > 0) this.#types.update(changed)
      return this.#types
    }
    this.#types?.close()
    this.#types = openTypes(options)
    return this.#types
  }

  close(): void {
    this.#types?.close()
    this.#types = undefined
    this.#texts = new Map()
  }
}
