import { InvalidArgumentError } from 'commander'

/** The address of a journal, as `--journal` takes it. */
export function parseJournal(text: string): string {
  if (text === 'memory' || /^(sqlite|postgres|postgresql):.+/.test(text)) return text
  throw new InvalidArgumentError('Expected sqlite:FILE, postgres://HOST/DATABASE or memory.')
}

/** The address of a journal or store that is read by another process than the one that wrote it. */
export function parseStored(text: string): string {
  if (text !== 'memory') return parseJournal(text)
  throw new InvalidArgumentError(
    'What is in memory can be read by its own process only. Expected sqlite:FILE or postgres://HOST/DATABASE.',
  )
}
