/**
 * Which files of a package go into its archive: the rules are npm's, by its own package.
 *
 * That package matches every name with every pattern in one go: 100 ms of the processor for 500
 * files. So it runs in a thread (law 2).
 */
import { lstat, readdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, job, type Job } from '@heddle/core'
import { isFields, type Fields } from '../manifest/local-range.ts'
import { isOurs } from '../own-files.ts'
import { bundleOf, type BundledPackage } from './bundled.ts'
import { byPath } from './archive-entry.ts'

export interface FileListOptions {
  readonly name: string
  /** Where the files are. */
  readonly folder: string
  readonly manifest: Fields
  /** The workspace around it, whose ignore files count too. */
  readonly root: string
  /** Whether the folder is a package of the workspace, so that ignore files above it count too. */
  readonly isMember: boolean
  /** Whether a package without a licence gets the one of the root, as pnpm packs it. */
  readonly takesRootLicense?: boolean
  /** Whether only programs of `bin` are executable, as pnpm packs it. */
  readonly onlyBinsRun?: boolean
  /** Whether the changelog is packed whatever `files` says, as Yarn packs it. */
  readonly takesChangelog?: boolean
}

/** A file of the package, or of a package that it bundles. */
export interface ListedFile {
  /** Inside the archive, below `package/`. */
  readonly path: string
  readonly file: string
  readonly isExecutable: boolean
  /** The bundled package whose manifest this is: its folder, without symbolic links. */
  readonly manifestOf?: string
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

/** From the package's folder to the place in the archive: bundled packages may come from above. */
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

/** The names that pnpm looks for at the root. */
const license = /^licen[sc]e(?:\..*)?$/i

/** The names that pnpm recognizes in a package, in any folder, so also those of bundled code. */
const anyLicense = /licen[sc]e/i

/** The names that Yarn recognizes. */
const changelog = /^changelog(?:\..*)?$/i

/**
 * The files below `package/`, sorted, without the package's own manifest.
 *
 * @throws `HDL_PACK_FAILED`
 */
export const listFiles: Job<FileListOptions, ListedFile[]> = job(
  { name: 'list the files of a package', place: 'thread', module: import.meta.url },
  async (options: FileListOptions): Promise<ListedFile[]> => {
    checkInside(options)
    // Loaded in the thread alone.
    const { default: packlist } = await import('npm-packlist')
    const { root, packages } = await bundleOf(options.name, options.folder, options.manifest)
    const prefix = await realpath(options.root)
    // Without them npm packs the files at the root, and so does `npm pack` there. The list
    // names only this package of the workspace: npm looks for nothing else in it.
    const workspaces = options.isMember ? [root.path] : []
    const around = root.path === prefix ? {} : { prefix, workspaces }
    const listed = await packlist(root, { path: root.path, ...around })
    const isBin = executables(options.manifest)
    const files = new Map<string, ListedFile>()
    for (const relative of listed) {
      const file = path.resolve(root.path, relative)
      const { path: place, owner } = archivePath(root, packages, relative)
      if (place === 'package.json' || isOurs(place)) continue
      const status = await lstat(file)
      // Like npm, skips links, which may lead out of the package, and pipes, whose reader waits for
      // ever.
      if (!status.isFile()) continue
      const isManifest = place === path.posix.join(owner.location, 'package.json')
      // A file without the executable mark on Windows may have it elsewhere.
      const isMarked = options.onlyBinsRun !== true && (status.mode & 0o100) !== 0
      const isExecutable = isBin.has(place) || isMarked
      const entry = { path: place, file, isExecutable }
      files.set(place, isManifest ? { ...entry, manifestOf: owner.folder } : entry)
    }
    const hasLicense = [...files.keys()].some((place) => anyLicense.test(place))
    if (options.takesRootLicense === true && root.path !== prefix && !hasLicense) {
      for (const place of (await readdir(prefix)).filter((name) => license.test(name))) {
        files.set(place, { path: place, file: path.join(prefix, place), isExecutable: false })
      }
    }
    if (options.takesChangelog === true) {
      for (const place of (await readdir(root.path)).filter((name) => changelog.test(name))) {
        files.set(place, { path: place, file: path.join(root.path, place), isExecutable: false })
      }
    }
    return [...files.values()].sort(byPath)
  },
)
