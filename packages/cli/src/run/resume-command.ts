import { defaultJournal } from './journal.ts'
import { defaultLimits, type RunSettings } from './settings.ts'

const plainWord = /^[\w@%+=:,./-]+$/

/** A word as a shell takes it for one. */
export function quote(word: string): string {
  return plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** What to type to go on with a run, or with the last one where its id is not known. */
export function resumeCommand(
  run: string | undefined,
  settings: RunSettings,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const { file, args, journal = defaultJournal, title } = settings
  const words = ['heddle', 'run', file]
  // Started through npx, it is probably not on the path.
  if (env['npm_command'] === 'exec') words.unshift('npx')
  for (const name of ['concurrency', 'retries', 'timeout'] as const) {
    if (settings[name] !== defaultLimits[name]) words.push(`--${name}`, String(settings[name]))
  }
  if (title !== undefined) words.push('--title', title)
  if (journal !== defaultJournal) words.push('--journal', journal)
  words.push('--resume', ...(run === undefined ? [] : [run]))
  if (args.length > 0) words.push('--', ...args)
  return words.map(quote).join(' ')
}
