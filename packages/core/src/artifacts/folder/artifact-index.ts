/**
 * The list of the artifacts of a run, as a file: a line of JSON for each artifact that was written; the last line of a name
 * counts. A line is appended when the bytes of its artifact are durable, so a line that is there is true (F1); the end of a
 * file that a crash has torn is not a line.
 */
import { open, readFile, truncate } from 'node:fs/promises'
import path from 'node:path'
import { ifExists, replaceFile, syncFolder } from '../../files/replace.ts'
import type { ArtifactInfo } from '../artifact-store.ts'
import { indexName, isFileName } from './file-names.ts'

/** An artifact and its file. */
export interface ArtifactEntry extends ArtifactInfo {
  readonly file: string
}

/** How many outdated lines may be in the list before it is rewritten. */
const mostOldLines = 1_000

/** The artifacts of a run by name, in the order of their last line. */
export async function readIndex(folder: string): Promise<Map<string, ArtifactEntry>> {
  return (await read(folder)).entries
}

/** The same for the process that writes: repairs a torn end, and drops lines that do not count any more. */
export async function openIndex(folder: string): Promise<Map<string, ArtifactEntry>> {
  const { entries, lines, whole, size } = await read(folder)
  if (lines - entries.size > mostOldLines) {
    const target = path.join(folder, indexName)
    const content = [...entries.values()].map(lineOf).join('')
    await replaceFile({ target, temp: `${target}.draft`, attributes: undefined, content })
  } else if (whole < size) {
    await truncate(path.join(folder, indexName), whole)
  }
  return entries
}

/** Durable when it resolves. */
export async function appendToIndex(folder: string, entry: ArtifactEntry): Promise<void> {
  const handle = await open(path.join(folder, indexName), 'a')
  try {
    await handle.appendFile(lineOf(entry))
    await handle.sync()
  } finally {
    await handle.close()
  }
  await syncFolder(folder)
}

function lineOf(entry: ArtifactEntry): string {
  return `${JSON.stringify(entry)}\n`
}

interface Read {
  readonly entries: Map<string, ArtifactEntry>
  readonly lines: number
  /** Bytes up to the end of the last whole line, and of the file. */
  readonly whole: number
  readonly size: number
}

async function read(folder: string): Promise<Read> {
  const bytes = await ifExists(readFile(path.join(folder, indexName)))
  const entries = new Map<string, ArtifactEntry>()
  if (bytes === undefined) return { entries, lines: 0, whole: 0, size: 0 }
  const whole = bytes.lastIndexOf(0x0a) + 1
  const lines = bytes.toString('utf8', 0, whole).split('\n').slice(0, -1)
  for (const line of lines) {
    const entry = parse(line)
    if (entry === undefined) continue
    entries.delete(entry.name)
    entries.set(entry.name, entry)
  }
  return { entries, lines: lines.length, whole, size: bytes.length }
}

function parse(line: string): ArtifactEntry | undefined {
  try {
    const found = JSON.parse(line) as Partial<ArtifactEntry> | null
    const { run, name, length, sha256, createdAt, by, file } = found ?? {}
    const isEntry =
      typeof run === 'string' &&
      typeof name === 'string' &&
      typeof length === 'number' &&
      typeof sha256 === 'string' &&
      typeof createdAt === 'number' &&
      typeof by === 'string' &&
      typeof file === 'string' &&
      isFileName(file)
    return isEntry ? { run, name, length, sha256, createdAt, by, file } : undefined
  } catch {
    // A damaged line: its artifact is lost, the others are not.
    return undefined
  }
}
