import { SourceCache } from '../frontend/read-program.ts'
import type { TypesThreadOptions } from '../frontend/types/types-thread.ts'
import { ProgramTypes } from './program-types.ts'

/** What is kept between analyses of the same program: trees, and a compiler that is running. */
export class AnalysisCache {
  readonly sources: SourceCache = new SourceCache()
  #types: ProgramTypes | undefined

  /** The compiler of the last run, or a new one when it was lost or files have come or gone. It stays ours. */
  typesFor(options: TypesThreadOptions): ProgramTypes {
    if (this.#types?.isFor(options.files) && !this.#types.isLost) return this.#types
    void this.#types?.close()
    this.#types = new ProgramTypes({ ...options, isKept: true })
    return this.#types
  }

  /** *Cancellation*: none; it ends the compiler. */
  async close(): Promise<void> {
    await this.#types?.close()
    this.#types = undefined
  }
}
