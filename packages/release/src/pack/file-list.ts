/** Which files of a package go into its archive: the rules are npm's, by its own package. */
import { lstat } from 'node:fs/promises'
import path from 'node:path'
import packlist from 'npm-packlist'
import { HeddleError } from '@heddle/core'
import { isFields, type Fields } from '../manifest/local-range.ts'
import { bundleOf, type BundledPackage } from './bundled.ts'
import { byPath, type ArchiveEntry } from './archive-entry.ts'

export interface FileListOptions {
  readonly name: string
  /** Where the files are. */
  readonly folder: string
  readonly manifest: Fields
  /** The workspace around it, whose ignore files count too. */
  readonly root: string
  /** The folders of all packages of the workspace. */
  readonly workspaces: readonly string[]
  /** The manifest that a bundled package gets when it is one of the workspace. */
  readonly bundledManifest: (folder: string) => string | undefined
}

function checkInside({ name, manifest }: FileListOptions): void {
  const { files } = manifest
  const outside = Array.isArray(files)
    ? files.find((file) =>
        /^\.\.(?:\/|$)/.test(path.posix.join(String(file).replace(/^[!/]+/, ''))),
      )
    : undefined
  if (outside === undefined) return
  const problem = `"files" lists ${String(outside)}, which is outside of the package`
  throw new HeddleError('HDL_PACK_FAILED', { package: name, problem })
}

/** Files that must be executable wherever they are installed. */
function executables(manifest: Fields): Set<string> {
  const { bin } = manifest
  const files = typeof bin === 'string' ? [bin] : isFields(bin) ? Object.values(bin) : []
  return new Set(files.map((file) => path.posix.normalize(String(file))))
}

/** From the package's folder to the place in the archive: what is bundled may come from above. */
function archivePath(
  root: BundledPackage,
  packages: readonly BundledPackage[],
  file: string,
): { path: string; owner: BundledPackage } {
  const absolute = path.resolve(root.path, file)
  const owner = packages
    .filter((one) => absolute.startsWith(`${one.path}${path.sep}`))
    .reduce((a, b) => (b.path.length > a.path.length ? b : a), root)
  const inside = path.relative(owner.path, absolute).split(path.sep).join('/')
  return { path: path.posix.join(owner.location, inside), owner }
}

/**
 * The entries below `package/`, sorted, without the package's own manifest.
 *
 * @throws `HDL_PACK_FAILED`
 */
export async function filesToPack(options: FileListOptions): Promise<ArchiveEntry[]> {
  checkInside(options)
  const { root, packages } = await bundleOf(options.name, options.folder, options.manifest)
  const listed = await packlist(root, {
    path: root.path,
    prefix: options.root,
    workspaces: [...options.workspaces],
  })
  const isBin = executables(options.manifest)
  const entries = new Map<string, ArchiveEntry>()
  for (const relative of listed) {
    const file = path.resolve(root.path, relative)
    const { path: place, owner } = archivePath(root, packages, relative)
    if (place === 'package.json') continue
    const isManifest = place === path.posix.join(owner.location, 'package.json')
    const manifest = isManifest ? options.bundledManifest(owner.folder) : undefined
    // What is not marked as executable on Windows is so elsewhere only by chance.
    const isExecutable = isBin.has(place) || ((await lstat(file)).mode & 0o100) !== 0
    entries.set(place, {
      path: `package/${place}`,
      isExecutable,
      content: manifest === undefined ? { file } : Buffer.from(manifest),
    })
  }
  return [...entries.values()].sort(byPath)
}
