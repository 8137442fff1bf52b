/** Making journals, and damaging them. */
import { readFile, writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { header } from '../../../src/testing/journal/case.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'

export const pageSize = 4096

/** Writes runs of the same number of rows, each with a large and a small result. */
export async function writeRuns(file: string, runs: number, rows: number): Promise<void> {
  await using journal = await openJournal(file, { durability: 'process' })
  for (let run = 0; run < runs; run++) await writeRun(journal, `r${run}`, rows)
}

async function writeRun(journal: Journal, id: string, rows: number): Promise<void> {
  const writer = await journal.openRun(header(id))
  for (let attempt = 0; attempt < rows; attempt++) {
    writer.append({ node: 'a', state: 'running', attempt, at: attempt })
  }
  await writer.commit({ node: 'a', state: 'succeeded', attempt: 0, at: 1 }, `small of ${id}`)
  await writer.commit({ node: 'b', state: 'succeeded', attempt: 0, at: 1 }, largeOf(id))
  writer.setState('finished', 5)
  await writer.flush()
}

export function largeOf(id: string): string {
  return `${id} `.repeat(50_000)
}

/** Changes bytes of a file in place. */
export async function damage(
  file: string,
  change: (bytes: Buffer) => Buffer | void,
): Promise<void> {
  const bytes = await readFile(file)
  await writeFile(file, change(bytes) ?? bytes)
}

/** The leaf pages that hold the rows of one table, in order. */
export function pagesOf(file: string, table: string): number[] {
  using database = new DatabaseSync(file, { readOnly: true })
  const pages = database
    .prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path")
    .all(table)
  return pages.map(({ pageno }) => pageno as number)
}

/** The page with which a table begins. */
export function rootPageOf(file: string, table: string): number {
  using database = new DatabaseSync(file, { readOnly: true })
  const found = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table)
  return found!['rootpage'] as number
}

/** A page in the middle of the history. */
export function middlePage(file: string): number {
  const pages = pagesOf(file, 'history')
  return pages[Math.floor(pages.length / 2)]!
}

/** Makes a page unreadable. */
export async function ruinPage(file: string, page: number): Promise<void> {
  await damage(file, (bytes) => {
    bytes.fill(0xee, (page - 1) * pageSize, page * pageSize)
  })
}
