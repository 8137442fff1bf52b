import { SourceCache } from '../frontend/read-program.ts'
import { LoweredFiles } from '../ir/lowered-files.ts'
import type { TypesThreadOptions } from '../frontend/types/types-thread.ts'
import { ProgramTypes } from './program-types.ts'

/**
 * What is kept between analyses of the same program: trees, lowered files, and a compiler that is running.
 */
export class AnalysisCache {
  readonly sources: SourceCache = new SourceCache()
  #lowered = new LoweredFiles()
  /** What lowering depends on beside the tree. */
  #loweredWith = ''
  #types: ProgramTypes | undefined

  /** Files that were lowered with this root and these guards. */
  loweredFor(root: string, guards: readonly string[] = []): LoweredFiles {
    const settings = JSON.stringify([root, ...guards])
    if (settings !== this.#loweredWith) this.#lowered = new LoweredFiles()
    this.#loweredWith = settings
    return this.#lowered
  }

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
