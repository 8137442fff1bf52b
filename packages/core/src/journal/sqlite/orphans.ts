/* oxlint-disable node/no-sync -- runs in a thread of the journal, where waiting is what it is for */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { draftSuffix, valuesFolder } from './file-names.ts'

/**
 * Removes the files of large values that no row names: files that a killed writer has left (V2), and files of
 * pruned runs. Returns their bytes.
 *
 * While another process writes, a file without a row may be about to get one: then only those are removed that
 * were written before `before`, in milliseconds since 1970.
 */
export function removeOrphans(database: DatabaseSync, file: string, before = Infinity): number {
  const folder = valuesFolder(file)
  if (!existsSync(folder)) return 0
  const named = database.prepare("SELECT 1 FROM result WHERE typeof(value) = 'text' AND value = ?")
  let bytes = 0
  for (const name of readdirSync(folder)) {
    const isOurs = name.endsWith(draftSuffix) || /^[0-9a-f]{64}$/.test(name)
    if (!isOurs || named.get(name) !== undefined) continue
    const path = join(folder, name)
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined || found.mtimeMs >= before) continue
    rmSync(path, { force: true })
    bytes += found.size
  }
  return bytes
}
