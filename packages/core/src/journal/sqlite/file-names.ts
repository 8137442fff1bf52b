/** Where the things beside a journal's file are. */

/** The folder of large values. */
export function valuesFolder(file: string): string {
  return `${file}.values`
}

/** Ends the name of a large value that is being written. */
export const draftSuffix = '.draft'

/** The lock of whoever writes. */
export function lockName(file: string): string {
  return `${file}.lock`
}

/** What was saved of a damaged file. */
export function savedName(file: string): string {
  return `${file}.saved.db`
}

/** The copy of an older file, from before it was migrated. */
export function backupName(file: string, version: number): string {
  return `${file}.v${version}.backup.db`
}
