/**
 * Packing for npm, from a manifest in memory: nothing in the work tree is touched.
 *
 *   manifest ──▶ file list ──▶ tar ──▶ gzip ──▶ file + hashes ──▶ read back
 *      │ local ranges left                                            │ local ranges left
 *      ▼                                                              ▼
 *   HDL_LOCAL_RANGE, nothing written                     HDL_LOCAL_RANGE, the file is removed
 *
 * Invariants, quoted by the tests:
 *  K1  The same files and plan give the same bytes, whenever and wherever they are packed with the
 *      same version of Node: fixed dates, owners and modes, sorted, a fixed header of gzip.
 *  K2  No file of the work tree is written, created or removed.
 *  K3  The returned manifest is that of the archive: it was read back.
 *  K4  The archive is never whole in memory, and no step holds the loop for longer than a piece.
 *  K5  A failed or cancelled call leaves nothing in the folder.
 *
 * Known limit: compressed bytes are zlib's, and another version of Node may bring another zlib. Who
 * resumes a release on another machine should use the same version of Node.
 */
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { HeddleError } from '@heddle/core'
import { type Kernel, Patience, systemKernel, type WaitOptions } from '@heddle/core/lowlevel'
import { checkNoLocalRanges, isFields, type Fields } from '../manifest/local-range.ts'
import { formatLike, parseJsonManifest, readManifest } from '../manifest/manifest-text.ts'
import { releaseManifest, type ReleaseManifestOptions } from '../manifest/npm-manifest.ts'
import { withValueAt } from '../manifest/text-edit.ts'
import type { PackedPackage, PlannedPackage, ReleasePlan } from '../model.ts'
import { npmPins } from '../pin/npm-pins.ts'
import type { ArchiveEntry } from './archive-entry.ts'
import type { WrittenArchive } from './archive-job.ts'
import { listFiles, type ListedFile } from './file-list.ts'
import { readmePath, rememberReadme } from './readme.ts'
import { runInPackThread } from './threads.ts'
import { writeArchive } from './write-archive.ts'

export interface PackOptions extends WaitOptions {
  /** Where the archives go; made when absent. Outside of the packages, or they would be packed. */
  readonly folder: string
  readonly kernel?: Kernel
}

export interface PackNpmOptions extends PackOptions, ReleaseManifestOptions {
  /**
   * Where the manifest comes from: as it was planned (default); `disk`, as it is there now, for scripts
   * that rewrite it before it is packed; `pinned`, as `--pin in-place` has written it, whatever has
   * been edited since.
   */
  readonly manifestFrom?: 'plan' | 'disk' | 'pinned'
  /** Called with the files of the archive, as paths below `package/`. Its error removes the archive. */
  readonly accept?: (manifest: Fields, files: readonly string[]) => void
}

/**
 * Unlike npm's, packages that differ give files that differ: `@a/b` and `a-b`, or version `1.0.0-1.0.0` of `a` and
 * `1.0.0` of `a-1.0.0`.
 */
export function tarballName(name: string, version: string): string {
  return `${name.replace('/', '+')}@${version}.tgz`
}

async function sourceOf(
  planned: PlannedPackage,
  plan: ReleasePlan,
  { manifestFrom }: PackNpmOptions,
): Promise<PlannedPackage> {
  if (manifestFrom === 'pinned') return pinnedSource(planned, plan)
  const { publishConfig } = planned.package.manifest
  // A build has put the published files, with their manifest, in there.
  const directory = isFields(publishConfig) ? publishConfig['directory'] : undefined
  const hasDirectory = typeof directory === 'string'
  if (!hasDirectory && manifestFrom !== 'disk') return planned
  const folder = path.resolve(planned.package.folder, hasDirectory ? directory : '')
  const manifestFile = path.join(folder, 'package.json')
  const manifest = parseJsonManifest(manifestFile, await readManifest(manifestFile))
  return { ...planned, package: { ...planned.package, folder, manifestFile, manifest } }
}

/** The manifest that builds have read while it was pinned. */
function pinnedSource(planned: PlannedPackage, plan: ReleasePlan): PlannedPackage {
  let manifest: unknown = planned.package.manifest
  for (const { path: place, value } of npmPins(planned, plan, planned.package.manifest)) {
    manifest = withValueAt(manifest, place, value)
  }
  return { ...planned, package: { ...planned.package, manifest: manifest as Fields } }
}

/** The manifest of the package, and those of the packages that it bundles. */
const manifestPath = /^package\/(?:(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+\/)?package\.json$/

/** Manifests, and files that the page of the package shows. */
const wantedTexts = new RegExp(`${manifestPath.source}|${readmePath.source}`, 'i')

/** What the archive holds, read back (K3). */
function proveContent(
  name: string,
  { artifact: { file }, content }: WrittenArchive,
  entries: readonly ArchiveEntry[],
  manifest: Fields,
): void {
  const manifests = Array.from(content.texts).flatMap(([place, text]): [string, Fields][] =>
    manifestPath.test(place) ? [[place, parseJsonManifest(`${file}: ${place}`, text)]] : [],
  )
  const own = manifests.find(([place]) => place === 'package/package.json')?.[1]
  const isSame =
    isDeepStrictEqual(
      content.files,
      entries.map((entry) => entry.path),
    ) && isDeepStrictEqual(own, manifest)
  if (!isSame) {
    const problem = `${file} differs from the written bytes`
    throw new HeddleError('HDL_PACK_FAILED', { package: name, problem })
  }
  for (const [place, bundled] of manifests) {
    if (bundled === own) checkNoLocalRanges(name, bundled)
    // devDependencies of a bundled package are not installed.
    else {
      const { dependencies, optionalDependencies, peerDependencies } = bundled
      checkNoLocalRanges(`${name} (${place})`, {
        dependencies,
        optionalDependencies,
        peerDependencies,
      })
    }
  }
}

/** A bundled package of the workspace comes with the manifest of its release. */
function entryFor(
  listed: ListedFile,
  plan: ReleasePlan,
  options: ReleaseManifestOptions,
): ArchiveEntry {
  const { file, isExecutable, manifestOf } = listed
  const entry = { path: `package/${listed.path}`, isExecutable, content: { file } }
  if (manifestOf === undefined) return entry
  const bundled = plan.packages.values().find((other) => other.package.folder === manifestOf)
  if (bundled === undefined) return entry
  // A package packed along may be one that is never published.
  const published = { ...bundled, package: { ...bundled.package, isPrivate: false } }
  const text = JSON.stringify(releaseManifest(published, plan, options), undefined, 2)
  return { ...entry, content: Buffer.from(text) }
}

/**
 * Packs a package as `npm pack` would, with the manifest that {@link releaseManifest} gives.
 *
 * Scripts are not run: see `runScript`.
 *
 * *Cancellation*: ends between two pieces; nothing is left in the folder.
 *
 * @throws `HDL_LOCAL_RANGE` before anything is written; `HDL_PACK_FAILED`; `HDL_STORE_FAILED`.
 */
export async function packNpm(
  planned: PlannedPackage,
  plan: ReleasePlan,
  options: PackNpmOptions,
): Promise<PackedPackage> {
  const { name } = planned.package
  const { clock } = options.kernel ?? systemKernel
  using patience = new Patience(`Packing ${name}`, clock, options)
  patience.check()
  const asLimited = (error: unknown): never => {
    throw patience.errorOf(error)
  }
  const source = await sourceOf(planned, plan, options)
  const manifest = releaseManifest(source, plan, options)
  const style = await readManifest(source.package.manifestFile)
  const { root, packages, tool } = plan.workspace
  const files = await runInPackThread(
    listFiles,
    {
      name,
      folder: source.package.folder,
      manifest,
      root,
      isMember: Array.from(packages.values()).some(
        ({ folder }) => folder === source.package.folder,
      ),
      takesRootLicense: tool === 'pnpm',
      onlyBinsRun: tool === 'pnpm',
      takesChangelog: tool === 'yarn',
    },
    patience.bounded,
  ).catch(asLimited)
  patience.check()
  // First, where readers of a stream find it soonest.
  const own: ArchiveEntry = {
    path: 'package/package.json',
    isExecutable: false,
    content: Buffer.from(formatLike(manifest, style)),
  }
  const entries = [own, ...files.map((listed) => entryFor(listed, plan, options))]
  const file = path.resolve(options.folder, tarballName(name, planned.version))
  const task = { file, source: { kind: 'tar', entries }, readBack: wantedTexts } as const
  const written = await writeArchive(task, patience.bounded).catch(asLimited)
  try {
    proveContent(name, written, entries, manifest)
    options.accept?.(
      manifest,
      written.content.files.map((each) => each.slice('package/'.length)),
    )
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
  const packed: PackedPackage = {
    name,
    version: planned.version,
    ecosystem: 'npm',
    artifacts: [written.artifact],
    manifest,
  }
  rememberReadme(packed, written.content.texts)
  return packed
}
