import path from 'node:path'
import { parseSource } from '../parse.ts'

export interface Snippet {
  /** Absolute; there is no such file. */
  readonly file: string
  readonly text: string
}

/**
 * A piece of code without a file. It may be a whole file or some members of a class, which cannot
 * stand alone: they are put into one, on the same line, so that lines stay as they are.
 */
export function snippetOf(text: string, root: string, exists: (file: string) => boolean): Snippet {
  const wrapped = `class Snippet { ${text}\n}`
  const candidates = [text, wrapped].flatMap((candidate) =>
    ['.ts', '.tsx'].map((extension) => ({ text: candidate, extension })),
  )
  const readable = candidates.find(
    (one) => parseSource(`snippet${one.extension}`, one.text).errors.length === 0,
  )
  const chosen = readable ?? { text, extension: '.ts' }
  let file = path.join(root, `snippet${chosen.extension}`)
  for (let number = 2; exists(file); number++) {
    file = path.join(root, `snippet-${number}${chosen.extension}`)
  }
  return { file, text: chosen.text }
}
