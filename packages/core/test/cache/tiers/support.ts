import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A directory that is removed with the scope: `using folder = temporaryFolder()`. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'heddle-cache-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** The directories of caches in a folder. */
export function homes(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith('heddle-cache-'))
    .toSorted()
    .map((name) => join(folder, name))
}
