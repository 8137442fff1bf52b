/** Conditions of a pattern on a position in the matched text. */
import { contains, lineEnds, wordCharacters } from './charset.ts'

/** Indexed by position: the character that starts there, and -1 after the end. */
export function charactersOf(text: string, isUnicode: boolean): Int32Array {
  const found = new Int32Array(text.length + 1)
  for (let i = 0; i < text.length; i += 1) {
    found[i] = isUnicode ? (text.codePointAt(i) as number) : text.charCodeAt(i)
  }
  found[text.length] = -1
  return found
}

export function isLineEnd(text: string, at: number): boolean {
  return contains(lineEnds, text.charCodeAt(at))
}

export function isWord(text: string, at: number): boolean {
  return at >= 0 && at < text.length && contains(wordCharacters, text.charCodeAt(at))
}

/** The character that ends at a place, or -1. */
export function characterBefore(text: string, at: number, isUnicode: boolean): number {
  if (at === 0) return -1
  if (isUnicode && at >= 2) {
    const pair = text.codePointAt(at - 2) as number
    if (pair > 0xffff) return pair
  }
  return text.charCodeAt(at - 1)
}
