/* oxlint-disable node/no-sync -- runs in a thread of the journal, where waiting is what it is for */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { draftSuffix, valuesFolder } from './file-names.ts'

/**
 * Removes the files that a killed writer left behind: those whose row was never written (V2).
 *
 * Only after a writer that did not close the journal, and before the next one writes: reading a folder
 * of 100,000 names takes a while, and a file without a row may be about to get one.
 */
export function removeOrphans(database: DatabaseSync, file: string): void {
  const last = database
    .prepare('SELECT closed_at FROM session ORDER BY session DESC LIMIT 1')
    .get() as { closed_at: number | null } | undefined
  const folder = valuesFolder(file)
  if (last === undefined || last.closed_at !== null || !existsSync(folder)) return
  const named = database.prepare("SELECT 1 FROM result WHERE typeof(value) = 'text' AND value = ?")
  for (const name of readdirSync(folder)) {
    const isOurs = name.endsWith(draftSuffix) || /^[0-9a-f]{64}$/.test(name)
    if (isOurs && named.get(name) === undefined) rmSync(join(folder, name))
  }
}
