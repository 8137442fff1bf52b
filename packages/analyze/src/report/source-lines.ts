import { LineIndex } from './line-index.ts'

/** The text of a file by the path that findings use; undefined when it is gone. */
export type ReadText = (file: string) => string | undefined

/** The lines of all files that findings are in: each is split once, however many findings it has. */
export class SourceLines {
  readonly #read: ReadText
  readonly #indexes = new Map<string, LineIndex | undefined>()

  constructor(read: ReadText) {
    this.#read = read
  }

  /** Undefined when the file is gone. */
  of(file: string): LineIndex | undefined {
    if (!this.#indexes.has(file)) {
      const text = this.#read(file)
      this.#indexes.set(file, text === undefined ? undefined : new LineIndex(text))
    }
    return this.#indexes.get(file)
  }
}
