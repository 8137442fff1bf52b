import { defaultJournal } from './journal.ts'
import type { RunSettings } from './settings.ts'

const plainWord = /^[\w@%+=:,./-]+$/

/** A word as a shell takes it for one. */
export function quote(word: string): string {
  return plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** What to type to go on with a run, or with the last one where its id is not known. */
export function resumeCommand(
  run: string | undefined,
  { file, journal = defaultJournal, args }: Pick<RunSettings, 'file' | 'journal' | 'args'>,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const words = ['heddle', 'run', file, '--resume', ...(run === undefined ? [] : [run])]
  // Started through npx, it is probably not on the path.
  if (env['npm_command'] === 'exec') words.unshift('npx')
  if (journal !== defaultJournal) words.push('--journal', journal)
  if (args.length > 0) words.push('--', ...args)
  return words.map(quote).join(' ')
}
