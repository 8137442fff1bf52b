import type { ParsedFile } from '../frontend/parse.ts'
import type { KeptFile } from './kept-file.ts'

/**
 * Lowered files of earlier programs, by their trees: they go when the trees go.
 *
 * I1. A file is in one program at a time. The taker has it alone until it is given back, so runs that
 *     overlap do not meet, and a file that is never returned belongs to no other.
 * I2. Files here are as lowering made them.
 */
export class LoweredFiles {
  readonly #files = new WeakMap<ParsedFile, KeptFile>()

  take(parsed: ParsedFile): KeptFile | undefined {
    const kept = this.#files.get(parsed)
    this.#files.delete(parsed)
    return kept
  }

  giveBack(kept: KeptFile): void {
    kept.restore()
    this.#files.set(kept.lowered.file.parsed, kept)
  }
}
