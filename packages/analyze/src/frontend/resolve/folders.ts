import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * The entries of folders, read once per folder. Asking whether a name exists then costs no system call,
 * and resolving an import asks about ten names.
 */
export class Folders {
  readonly #listings = new Map<string, ReadonlyMap<string, 'file' | 'folder'>>()

  isFile(file: string): boolean {
    return this.#listing(path.dirname(file)).get(path.basename(file)) === 'file'
  }

  isFolder(folder: string): boolean {
    return this.#listing(path.dirname(folder)).get(path.basename(folder)) === 'folder'
  }

  #listing(folder: string): ReadonlyMap<string, 'file' | 'folder'> {
    let listing = this.#listings.get(folder)
    if (listing === undefined) {
      listing = list(folder)
      this.#listings.set(folder, listing)
    }
    return listing
  }
}

function list(folder: string): ReadonlyMap<string, 'file' | 'folder'> {
  const found = new Map<string, 'file' | 'folder'>()
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isFile()) found.set(entry.name, 'file')
      else if (entry.isDirectory()) found.set(entry.name, 'folder')
      else if (entry.isSymbolicLink()) addLinked(found, folder, entry.name)
    }
  } catch {
    // No such folder, or none that we may read: nothing is in it for us.
  }
  return found
}

function addLinked(found: Map<string, 'file' | 'folder'>, folder: string, name: string): void {
  const stats = statSync(path.join(folder, name), { throwIfNoEntry: false })
  if (stats?.isFile()) found.set(name, 'file')
  else if (stats?.isDirectory()) found.set(name, 'folder')
}
