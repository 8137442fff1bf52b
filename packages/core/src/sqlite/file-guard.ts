/* oxlint-disable node/no-sync -- runs in a thread for SQLite, where waiting is what it is for */
/**
 * Finds out that a file was deleted or replaced while it is open.
 *
 * The system lets a process write to a file that has no name any more, and SQLite does not look: commits
 * succeed, and everything is gone when the file is closed. So the names are looked up again now and then, and
 * before the end of a run is acknowledged. A look costs 2 to 4 µs for each file.
 *
 *  G1  A file counts as the same while its name leads to the same device and inode.
 *  G2  Once a file was not the same it never is again: what was written to the other one is missing in it.
 */
import { statSync } from 'node:fs'

interface Guarded {
  readonly path: string
  readonly what: string
  readonly identity: string
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/** What has happened to a file, in words. */
export function goneWhileWritten(what: string, how = 'deleted or moved'): string {
  return `${what} was ${how} while this process was writing to it`
}

export class FileGuard {
  readonly #files: Guarded[] = []
  #problem: string | undefined

  /** From here on the file or folder must stay what it is. One that is not there is not watched. */
  add(path: string, what: string): boolean {
    const identity = identityOf(path)
    if (identity !== undefined) this.#files.push({ path, what, identity })
    return identity !== undefined
  }

  /** What has happened to the files, in words; undefined when they are all the same. */
  findProblem(): string | undefined {
    if (this.#problem !== undefined) return this.#problem
    for (const { path, what, identity } of this.#files) {
      const now = identityOf(path)
      if (now === identity) continue
      this.#problem = goneWhileWritten(
        what,
        now === undefined ? undefined : 'replaced by another one',
      )
      return this.#problem
    }
    return undefined
  }
}
