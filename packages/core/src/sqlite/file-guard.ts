/* oxlint-disable node/no-sync -- runs in a thread for SQLite, where waiting is what it is for */
/**
 * Finds out that a file was deleted, replaced or cut short while it is open.
 *
 * The system lets a process write to a file that has no name any more, and SQLite does not look: commits
 * succeed, and everything is gone when the file is closed. The same holds for a database or a log that another
 * program has emptied in place: SQLite writes its next pages behind a hole. So the names, the lengths and the
 * beginning of the log are checked again now and then, before pages of the log are moved into the database,
 * and before the end of a run is acknowledged. A look costs 2 to 4 µs for each file, 12 µs for a log.
 *
 *  G1  A file counts as the same while its name leads to the same device and inode.
 *  G2  Once a file was not the same it never is again: rows written to the other one are missing in it.
 *  G3  A database never gets shorter, except by a vacuum that its owner knows of.
 *  G4  A log keeps its header, and gets shorter only when it starts again, which changes the salt in the header.
 */
import { closeSync, openSync, readSync, statSync, type BigIntStats } from 'node:fs'

/** What is known of a guarded file beyond its name. */
export type GuardedKind =
  | {
      readonly is: 'database'
      /** Whether a vacuum may have made it so short. */
      readonly mayBe?: (size: number) => boolean
    }
  | { readonly is: 'log' }
  | { readonly is: 'folder' }

interface Guarded {
  readonly path: string
  readonly what: string
  readonly identity: string
  readonly kind: GuardedKind
  /** Bytes at the last check. */
  size: number
  /** For a log: the salt that its header had at the last check. */
  salt: string | undefined
}

const lookUp = (path: string): BigIntStats | undefined =>
  statSync(path, { bigint: true, throwIfNoEntry: false })

const identityOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`

/** What has happened to a file, in words. */
export function goneWhileWritten(what: string, how = 'deleted or moved'): string {
  return `${what} was ${how} while this process was writing to it`
}

export class FileGuard {
  readonly #files: Guarded[] = []
  #problem: string | undefined

  /** From here on the file or folder must stay the same. A missing one is not watched. */
  add(path: string, what: string, kind: GuardedKind): boolean {
    const found = lookUp(path)
    if (found === undefined) return false
    const identity = identityOf(found)
    this.#files.push({ path, what, kind, identity, size: Number(found.size), salt: undefined })
    return true
  }

  /** What has happened to the files, in words; undefined when they are all the same. */
  findProblem(): string | undefined {
    for (const file of this.#files) this.#problem ??= problemOf(file)
    return this.#problem
  }
}

function problemOf(file: Guarded): string | undefined {
  const { path, what, identity, kind } = file
  const found = lookUp(path)
  if (found === undefined) return goneWhileWritten(what)
  if (identityOf(found) !== identity) return goneWhileWritten(what, 'replaced by another one')
  if (kind.is === 'folder') return undefined
  const size = Number(found.size)
  const isCut = kind.is === 'log' ? isLogCut(file, size) : isDatabaseCut(file, size, kind.mayBe)
  file.size = size
  return isCut ? goneWhileWritten(what, size === 0 ? 'emptied' : 'cut short') : undefined
}

function isDatabaseCut(
  file: Guarded,
  size: number,
  mayBe: ((size: number) => boolean) | undefined,
): boolean {
  return size < file.size && (size === 0 || mayBe?.(size) !== true)
}

function isLogCut(file: Guarded, size: number): boolean {
  const before = file.salt
  file.salt = saltOf(file.path)
  if (before === undefined) return false
  return file.salt === undefined || (file.salt === before && size < file.size)
}

// From https://www.sqlite.org/fileformat.html#walformat: the first four bytes are one of two
// numbers, bytes 16 to 23 are the salt.
const headerBytes = 24
const magicNumbers = [0x377f0682, 0x377f0683]

/** Undefined while the log has no header. SQLite never locks the log: closing it here takes no lock away. */
function saltOf(log: string): string | undefined {
  const header = Buffer.alloc(headerBytes)
  const descriptor = openSync(log, 'r')
  try {
    if (readSync(descriptor, header, 0, headerBytes, 0) < headerBytes) return undefined
  } finally {
    closeSync(descriptor)
  }
  return magicNumbers.includes(header.readUInt32BE(0)) ? header.toString('hex', 16) : undefined
}
