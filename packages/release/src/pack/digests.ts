import { createHash } from 'node:crypto'
import type { Artifact } from '../model.ts'

/** The three hashes that registries ask for, computed piece by piece while something is written. */
export class Digests {
  readonly #sha512 = createHash('sha512')
  readonly #sha256 = createHash('sha256')
  readonly #sha1 = createHash('sha1')
  #size = 0

  update(piece: Uint8Array): void {
    this.#sha512.update(piece)
    this.#sha256.update(piece)
    this.#sha1.update(piece)
    this.#size += piece.length
  }

  /** To be called once. */
  artifact(file: string): Artifact {
    return {
      file,
      size: this.#size,
      integrity: `sha512-${this.#sha512.digest('base64')}`,
      sha1: this.#sha1.digest('hex'),
      sha256: this.#sha256.digest('hex'),
    }
  }
}
