import { withoutPasswords } from '../store/postgres/address.ts'

const plainWord = /^[\w@%+=:,./-]+$/

/** A word as a shell takes it for one. */
export function quoteWord(word: string): string {
  return plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** The command line of this process as it can be typed again, without passwords. */
export function commandLine(argv: readonly string[] = process.argv): string {
  const words = argv.slice(1)
  return words.map((word) => quoteWord(withoutPasswords(word))).join(' ') || 'node'
}
