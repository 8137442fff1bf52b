import { createHash } from 'node:crypto'
import { readEntry, type ArchiveEntry } from '../archive-entry.ts'

/** The entries of a wheel, and at last the RECORD with the hash of each. */
export async function* withRecord(
  entries: readonly ArchiveEntry[],
  record: string,
): AsyncGenerator<ArchiveEntry> {
  let lines = ''
  for (const entry of entries) {
    const hash = createHash('sha256')
    let size = 0
    for await (const piece of readEntry(entry, ({ pieces }) => pieces)) {
      hash.update(piece)
      size += piece.length
    }
    const name = /[",\n]/.test(entry.path) ? `"${entry.path.replaceAll('"', '""')}"` : entry.path
    lines += `${name},sha256=${hash.digest('base64url')},${size}\n`
    yield entry
  }
  yield { path: record, isExecutable: false, content: Buffer.from(`${lines}${record},,\n`) }
}
