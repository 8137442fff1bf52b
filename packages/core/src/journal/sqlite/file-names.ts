/** Where the things beside a journal's file are. */

/** The folder of large values. */
export function valuesFolder(file: string): string {
  return `${file}.values`
}

/** Ends the name of a large value that is being written. */
export const draftSuffix = '.draft'

/** The lock of the process that opens the journal for writing; before version 3 of the one that writes. */
export function lockName(file: string): string {
  return `${file}.lock`
}

/** The locks that prove writers alive: one for each session. */
export function writersFolder(file: string): string {
  return `${file}.writers`
}

/** What was saved of a damaged file. */
export function savedName(file: string): string {
  return `${file}.saved.db`
}

/** The copy of an older file, from before it was migrated. */
export function backupName(file: string, version: number): string {
  return `${file}.v${version}.backup.db`
}
