import { quoteWord, withoutPasswords } from '@heddle/core/lowlevel'
import { formatSize } from '../arguments/size.ts'
import { defaultJournal } from '../journal/open-journal.ts'
import type { RunSettings } from './run-settings.ts'

/** The command that resumes a run, or the last one when its id is not known. */
export function resumeCommand(
  run: string | undefined,
  settings: RunSettings,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const { retried } = settings
  const words =
    run !== undefined && retried ? retryWords(run, settings) : resumeWords(run, settings)
  // Started through npx, it is probably not on the path.
  if (env['npm_command'] === 'exec') words.unshift('npx')
  return words.map(quoteWord).join(' ')
}

function resumeWords(run: string | undefined, settings: RunSettings): string[] {
  const { args, key } = settings
  const words = ['heddle', ...runWords(settings)]
  if (key !== undefined) words.push('--key', key, '--resume')
  else words.push('--resume', ...(run === undefined ? [] : [run]))
  if (args.length > 0) words.push('--', ...args)
  return words
}

/** The journal has the limits of the run: the same command again needs none of them. */
function retryWords(run: string, { journal = defaultJournal, retried }: RunSettings): string[] {
  const { file, args } = retried!
  const words = ['heddle', 'runs', 'retry', run]
  if (file !== undefined) words.push('--file', file)
  if (journal !== defaultJournal) words.push('--journal', withoutPasswords(journal))
  if (args.length > 0) words.push('--', ...args)
  return words
}

/**
 * The words after `heddle` that run a graph like this: without the key or id of the run, and without arguments of the
 * module.
 */
export function runWords(settings: RunSettings): string[] {
  const { file, journal = defaultJournal, journalRetry, title, only = [] } = settings
  const { threads, threadMemory } = settings
  const words = ['run', file]
  for (const name of ['concurrency', 'retries', 'timeout'] as const) {
    if (settings[name] !== undefined) words.push(`--${name}`, String(settings[name]))
  }
  if (threads !== undefined) words.push('--threads', String(threads))
  if (threadMemory !== undefined) words.push('--thread-memory', formatSize(threadMemory))
  if (journalRetry !== undefined) words.push('--journal-retry', String(journalRetry))
  if (title !== undefined) words.push('--title', title)
  // A terminal keeps its text: the password comes from PGPASSWORD or ~/.pgpass, or is typed again.
  if (journal !== defaultJournal) words.push('--journal', withoutPasswords(journal))
  if (only.length > 0) words.push('--only', ...only)
  return words
}
