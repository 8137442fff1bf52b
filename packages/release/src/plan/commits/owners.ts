import path from 'node:path'
import type { Workspace } from '../../model.ts'
import type { Owners } from './history.ts'

const noOwners: readonly string[] = []

/**
 * A file belongs to the innermost package whose folder it is in; to two of them where a folder has
 * a package.json and a pyproject.toml.
 */
export function fileOwners({ root, packages }: Workspace): Owners {
  const byFolder = new Map<string, string[]>()
  for (const { name, folder } of packages.values()) {
    const relative = path.relative(root, folder).split(path.sep).join('/')
    byFolder.set(relative, [...(byFolder.get(relative) ?? []), name])
  }
  return (file) => {
    let folder = file
    while (folder !== '') {
      folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))
      const found = byFolder.get(folder)
      if (found !== undefined) return found
    }
    return noOwners
  }
}
