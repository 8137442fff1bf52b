import { InvalidArgumentError } from 'commander'

/** The address of a journal, as `--journal` takes it. */
export function parseJournal(text: string): string {
  if (text === 'memory' || /^(sqlite|postgres|postgresql):.+/.test(text)) return text
  throw new InvalidArgumentError('Expected sqlite:FILE, postgres://HOST/DATABASE or memory.')
}
