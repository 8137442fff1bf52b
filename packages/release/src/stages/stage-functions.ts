/**
 * The work of each stage. A stage gets the results of earlier stages of its package, and returns plain
 * data: the journal keeps it, and a release that is resumed after a crash starts from there.
 *
 * Invariants, quoted by the tests:
 *  G1  Nothing is uploaded that was not packed and read back in this release or the one it resumes.
 *  G2  `begin` is durable before the upload starts. A process that finds another's `begin` without the
 *      end of its upload takes the upload for one that may have happened; one that the registry has
 *      refused has ended.
 *  G3  A version that is on the registry, and whose upload this release has not begun, counts as released,
 *      whatever its tag: it is not built, packed or compared. One that was published from this commit
 *      belongs to this release: its archive is checked and its tag is made. A version that is computed
 *      from changes, or that a commit has made, and that is taken by another commit, is refused (O1, O2).
 *  G4  An archive that an earlier process packed is uploaded only if it equals the archive that this process would
 *      pack, or if its upload was begun already.
 */
import { rm } from 'node:fs/promises'
import path from 'node:path'
import picomatch from 'picomatch'
import semver from 'semver'
import { HeddleError, type JobContext } from '@heddle/core'
import type { Kernel, WaitOptions } from '@heddle/core/lowlevel'
import type { Forge } from '../forge/forge.ts'
import { notesOf } from '../forge/notes.ts'
import type { VersionOrigins } from '../git/origins.ts'
import type { Repository } from '../git/repository.ts'
import { tagFormatOf, tagName, tagObstacle } from '../git/tag-format.ts'
import type { TagQueue } from '../git/tag-queue.ts'
import type { Fields } from '../manifest/local-range.ts'
import { releaseManifest } from '../manifest/npm-manifest.ts'
import { isOutgrown, otherRanges, type InstalledRanges } from '../manifest/workspace-ranges.ts'
import type {
  Ecosystem,
  PackedPackage,
  PlannedPackage,
  ReleasePlan,
  WorkspacePackage,
} from '../model.ts'
import { packNpm } from '../pack/npm.ts'
import { packPython } from '../pack/python.ts'
import { prereleaseName } from '../plan/versions.ts'
import { runScript } from '../pack/run-script.ts'
import { noteScripts, removeNote } from '../pack/unfinished-scripts.ts'
import { approveOnce } from '../registry/approve-once.ts'
import type { ProvenanceBundle } from '../registry/npm/provenance.ts'
import { signProvenance } from '../registry/npm/sign-provenance.ts'
import { publishOnce, type PublishResult, type UploadFailure } from '../registry/reconcile.ts'
import type { Registry, VersionOnRegistry } from '../registry/registry.ts'
import { stageOnce } from '../registry/stage-once.ts'
import {
  waitInstallable,
  waitVisible,
  type Visibility,
  type VisibleOptions,
} from '../registry/visible.ts'
import { findMissingFiles, unbuiltFiles, type MissingFiles } from './declared-files.ts'
import type { Edits } from './edits.ts'
import type { ReleaseOptions } from './release-options.ts'
import { smokeInstall } from './smoke.ts'

/** What all stages of a release share. */
export interface Release {
  readonly plan: ReleasePlan
  readonly options: ReleaseOptions
  readonly kernel: Kernel
  /** Undefined outside of a repository. */
  readonly repository: Repository | undefined
  /** Tags of the repository, with their commits, as they were at the start. */
  readonly tags: ReadonlyMap<string, string>
  /** The folders that these tags are in. */
  readonly tagFolders: ReadonlySet<string>
  /** Where published versions come from. Undefined outside of a repository. */
  readonly origins: VersionOrigins | undefined
  /** Where Git tags are made. Undefined outside of a repository. */
  readonly gitTags: TagQueue | undefined
  /** Dist-tags by package, and when they were read. */
  readonly distTags: Map<
    string,
    { readonly tags: ReadonlyMap<string, string>; readonly at: number }
  >
  /** Where archives go. */
  readonly folder: string
  /** Where packages are noted whose scripts are under way. */
  readonly scripts: string
  /** Packages whose upload an earlier process began: see G2. */
  readonly unsure: ReadonlySet<string>
  registryFor(name: string): Registry
  /** A fingerprint of a package's sources: see G4. */
  sourcesOf(name: string): string
  /** How often the registry took an upload of the package and lost it. */
  turnOf(name: string): number
  /** Packages whose upload this release has begun, or done. */
  readonly begun: ReadonlySet<string>
  /** The commit, where it is all that is published. */
  readonly gitHead: string | undefined
  /** Undefined where the tree was not the commit at the start. */
  readonly edits: Edits | undefined
  /** Packages whose own scripts have changed tracked files. */
  readonly edited: Set<string>
  /** Files that manifests name and archives lack, by package. */
  readonly incomplete: Map<string, readonly string[]>
  /** Whether its archive gets a signed statement about its build. */
  isSigned(name: string): boolean
  /** Our identities, by address of the registry. */
  readonly users: ReadonlyMap<string, string>
  /** Records for other clones the versions that are about to be uploaded, before the first upload. */
  recordUploads(versions: readonly string[]): Promise<void>
}

/** The registry's answer before anything was done. */
export interface Checked {
  /** It is on the registry and is left alone (G3). */
  readonly isOld: boolean
  /** It is there, and was published from the commit that is released, by another clone. */
  readonly isOfThisCommit: boolean
  /** With `isOld`: the other commit that it was published from, where that is known. */
  readonly from?: string
  /** With `isOld`: it has not got the dist-tag that was asked for. */
  readonly lacksDistTag?: true
  /** With `isOld`: ranges of the workspace mean something else now (O3). */
  readonly isOutgrown?: true
}

/** The last thing that is written down before an upload. */
export interface Begun {
  /** What was packed: see G4. */
  readonly sources: string
  /** The version that had the tag until now; null when none had. A rollback gives it back. */
  readonly previous: string | null
  /** Facts for a rollback that a later plan may no longer have: see B4. */
  readonly version: string
  readonly distTag: string
  readonly registry: string
  readonly ecosystem: Ecosystem
  /** The commit that is released: a later process tags it, should this one be killed. */
  readonly commit: string | null
}

export interface Uploaded {
  readonly outcome: PublishResult['outcome'] | 'staged'
  readonly uploads: number
  /** With `staged`: the staged version to approve. */
  readonly stageId?: string
}

const uploadWords: Readonly<Record<PublishResult['outcome'], string>> = {
  'already-published': 'the registry has it already, with the same content',
  published: 'the registry has it',
  accepted: 'accepted by the registry',
  'accepted-not-visible': 'the registry says that it has this version, and does not show it yet',
}

/** The scripts that npm runs around a publication, in its order: before packing, after it, after the upload. */
const beforePack = ['prepublishOnly', 'prepack', 'prepare'] as const
const afterPack = ['postpack'] as const
const afterUpload = ['publish', 'postpublish'] as const

/** @throws `HDL_LOCAL_RANGE` for a range that cannot be installed outside of the workspace. */
export function manifest({ plan }: Release, name: string): void {
  const planned = plannedOf({ plan }, name)
  if (planned.package.ecosystem === 'npm') releaseManifest(planned, plan)
}

/** @throws `HDL_TAG_BACKWARDS`, `HDL_VERSION_TAKEN`, `HDL_TAG_TAKEN`, `HDL_REGISTRY_AUTH`: before anything is built. */
export async function check(release: Release, name: string, context: JobContext): Promise<Checked> {
  const planned = plannedOf(release, name)
  const { version } = planned
  const registry = release.registryFor(name)
  const wait = waitOf(context)
  const found = await registry.read(name, version, wait)
  if (found !== undefined) {
    if (release.begun.has(name)) return { isOld: false, isOfThisCommit: false }
    return checkReleased(release, planned, found, wait)
  }
  refuseTakenTag(release, planned)
  const latest = isTagMeant(planned)
    ? undefined
    : (await readTags(release, name, wait)).get('latest')
  // A prerelease has it only because a registry gives it to the first version, whatever it is.
  if (latest !== undefined && semver.prerelease(latest) === null && semver.gt(latest, version)) {
    throw new HeddleError('HDL_TAG_BACKWARDS', { package: name, version, latest })
  }
  await checkRights(release, name, registry, wait)
  return { isOld: false, isOfThisCommit: false }
}

/** G3 */
async function checkReleased(
  release: Release,
  planned: PlannedPackage,
  { gitHead, ranges }: VersionOnRegistry,
  wait: WaitOptions,
): Promise<Checked> {
  const { name } = planned.package
  const { version } = planned
  const { repository, plan } = release
  const tagged = release.tags.get(gitTagOf(release, planned))
  const from = gitHead ?? tagged
  const isOfThisCommit = from !== undefined && from === repository?.head
  const isComputed = plan.source === 'commits' && version !== planned.package.version
  const isOther =
    !isOfThisCommit &&
    (isComputed || (await release.origins?.isOther(planned, { from, ranges }, plan, wait)) === true)
  if (isOther) {
    const said =
      from === undefined
        ? 'published from an unknown commit'
        : `published from ${from.slice(0, 12)}`
    const details = { package: name, version, registry: release.registryFor(name).url, from: said }
    throw new HeddleError('HDL_VERSION_TAKEN', details)
  }
  return {
    isOld: true,
    isOfThisCommit: isOfThisCommit && gitHead !== undefined,
    ...((await lacksDistTag(release, planned, wait)) && { lacksDistTag: true as const }),
    ...(from !== undefined && !isOfThisCommit && { from }),
    ...(!isOfThisCommit && hasOutgrown(planned.package, plan, ranges) && { isOutgrown: true }),
  }
}

/**
 * Whether a dist-tag that was asked for is on no version of the package, or on an older one. It is left there all
 * the same: what was published before is not touched, and a rollback could not take it back.
 */
async function lacksDistTag(
  release: Release,
  planned: PlannedPackage,
  wait: WaitOptions,
): Promise<boolean> {
  const { distTag, isSnapshot = false } = release.plan
  if (distTag === undefined || isSnapshot || planned.package.ecosystem !== 'npm') return false
  const tagged = (await readTags(release, planned.package.name, wait)).get(distTag)
  return tagged !== planned.version && (tagged === undefined || isOlder(tagged, planned.version))
}

function hasOutgrown(
  of: WorkspacePackage,
  plan: ReleasePlan,
  published: InstalledRanges = {},
): boolean {
  return otherRanges(of, plan, published).some((each) => isOutgrown(of, each, plan))
}

/**
 * A tag stands for a published version: on another commit it would be wrong. A name that Git refuses would never be
 * made.
 */
function refuseTakenTag(release: Release, planned: PlannedPackage): void {
  const { repository, options } = release
  if (options.tag === false || repository === undefined) return
  const tagged = gitTagOf(release, planned)
  const commit = release.tags.get(tagged)
  const obstacle =
    commit === undefined
      ? tagObstacle(tagged, { tags: release.tags, folders: release.tagFolders })
      : undefined
  if (obstacle !== undefined) {
    const expected = `a tag that Git accepts for ${planned.package.name}: ${obstacle}`
    throw new HeddleError('HDL_BAD_OPTION', { option: 'tagFormat', value: tagged, expected })
  }
  if (commit === undefined || commit === repository.head) return
  throw new HeddleError('HDL_TAG_TAKEN', {
    package: planned.package.name,
    version: planned.version,
    tag: tagged,
    commit,
    head: repository.head,
  })
}

async function checkRights(
  release: Release,
  name: string,
  registry: Registry,
  wait: WaitOptions,
): Promise<void> {
  const user = release.users.get(registry.url)
  if (user === undefined) return
  if ((await registry.rights?.(name, user, wait)) !== 'read') return
  throw new HeddleError('HDL_REGISTRY_AUTH', {
    registry: registry.url,
    action: `publishing ${name}`,
    status: 403,
    said: '',
    hint: `${user} may read the package and not publish it. Nothing has been built.`,
  })
}

/** Whether the user has chosen the tag: another one than `latest`, or `latest` explicitly. */
function isTagMeant({
  distTag,
  package: { ecosystem, manifest: fields },
}: PlannedPackage): boolean {
  const { publishConfig } = fields as { readonly publishConfig?: { readonly tag?: unknown } }
  return ecosystem !== 'npm' || distTag !== 'latest' || publishConfig?.tag === 'latest'
}

export async function build(release: Release, name: string, context: JobContext): Promise<void> {
  const planned = plannedOf(release, name)
  const { build: script = 'build' } = release.options
  if (planned.package.ecosystem !== 'npm' || script === false) return
  const { signal } = context
  const result = await runScript(planned.package, script, { signal, version: planned.version })
  if (result !== undefined) context.log(`script "${script}" ended well`)
}

/** What npm runs by itself; nothing with `--ignore-scripts`. */
async function runLifecycle(
  release: Release,
  planned: PlannedPackage,
  events: readonly string[],
  context: JobContext,
): Promise<void> {
  if (release.options.ignoreScripts === true || planned.package.ecosystem !== 'npm') return
  for (const event of events) {
    const { signal } = context
    const options = { signal, version: planned.version, alone: true }
    const result = await runScript(planned.package, event, options)
    if (result !== undefined) context.log(`script "${event}" ended well`)
  }
}

/** `postpack` takes back what `prepack` has put into the folder, also when packing has failed. */
export async function pack(
  release: Release,
  name: string,
  context: JobContext,
): Promise<PackedPackage> {
  const planned = plannedOf(release, name)
  const isPaired = release.options.ignoreScripts !== true && hasScript(planned, 'postpack')
  if (isPaired) await noteScripts(release.scripts, planned.package)
  let packed: PackedPackage
  try {
    await runLifecycle(release, planned, beforePack, context)
    packed = await packFiles(release, planned, context)
  } catch (error) {
    // A `postpack` that failed or was ended is run by the next command, one that ended well is not.
    await runLifecycle(release, planned, afterPack, context).then(
      async () => removeNote(release.scripts, planned.package),
      () => undefined,
    )
    throw error
  }
  await runLifecycle(release, planned, afterPack, context)
  if (isPaired) await removeNote(release.scripts, planned.package)
  await refuseEdits(release, planned, context)
  for (const { size, integrity } of packed.artifacts) {
    context.log(`packed, ${size} bytes, ${integrity}`)
  }
  return packed
}

/**
 * The packed files must be those of the commit. Tracked files may have changed only in a package
 * whose own scripts run.
 *
 * @throws `HDL_TREE_DIRTY` before the archive is uploaded.
 */
async function refuseEdits(
  release: Release,
  planned: PlannedPackage,
  context: JobContext,
): Promise<void> {
  const { options } = release
  const { name, folder, ecosystem } = planned.package
  const edits = (await release.edits?.in(folder, waitOf(context))) ?? []
  // A manifest that is pinned in place is not an edit.
  const files = edits.filter(
    (line) => options.pin !== 'in-place' || !/\b(package\.json|pyproject\.toml)$/.test(line),
  )
  if (files.length === 0 || options.allowDirty === true) return
  const { build: script = 'build', ignoreScripts = false } = options
  const own = [
    ...(script === false ? [] : [script]),
    ...(ignoreScripts ? [] : [...beforePack, ...afterPack]),
  ]
  if (ecosystem === 'npm' && !own.some((each) => hasScript(planned, each))) {
    throw new HeddleError('HDL_TREE_DIRTY', { files })
  }
  release.edited.add(name)
  context.log(`scripts have changed files of the commit: ${files.join(', ')}`)
}

async function packFiles(
  release: Release,
  planned: PlannedPackage,
  context: JobContext,
): Promise<PackedPackage> {
  const { plan, folder, kernel, options } = release
  const common = { folder, kernel, ...waitOf(context) }
  if (planned.package.ecosystem !== 'npm') return packPython(planned, plan, common)
  // A script may rewrite the manifest before it is packed, and takes that back in `postpack`.
  const isRewritten = options.ignoreScripts !== true && hasScript(planned, 'prepack')
  const manifestFrom = options.pin === 'in-place' ? 'pinned' : isRewritten ? 'disk' : 'plan'
  const accept = (fields: Fields, files: readonly string[]): void =>
    refuseUnbuilt(release, planned, fields, findMissingFiles(fields, files))
  const packed = await packNpm(planned, plan, { ...common, manifestFrom, accept })
  const unbuilt = await leftOutBuilds(release, planned, context)
  if (unbuilt.length === 0) return packed
  for (const { file } of packed.artifacts) await rm(file, { force: true })
  // Said once, as the reason.
  release.incomplete.delete(planned.package.name)
  throw notBuilt(planned, unbuilt)
}

/** With `--no-build`: what the manifest names, Git ignores and the archive lacks is made by a build that has not run. */
async function leftOutBuilds(
  { repository, options, incomplete }: Release,
  { package: { name, folder } }: PlannedPackage,
  context: JobContext,
): Promise<string[]> {
  const missing = incomplete.get(name) ?? []
  if (options.build !== false || repository === undefined || missing.length === 0) return []
  const placeOf = (each: string): string => path.join(folder, each.replace(/ \("[^"]+"\)$/, ''))
  const places = missing.flatMap((each) => [placeOf(each), `${placeOf(each)}/`])
  const ignored = await repository.ignored(places, waitOf(context))
  return missing.filter((each) => ignored.has(placeOf(each)) || ignored.has(`${placeOf(each)}/`))
}

function notBuilt({ package: { name } }: PlannedPackage, files: readonly string[]): HeddleError {
  const problem =
    `its archive lacks ${files.join(', ')}, and no build runs here (--no-build). ` +
    'Build it before, or let the release build it'
  return new HeddleError('HDL_PACK_FAILED', { package: name, problem })
}

/**
 * Files that Node would import must be in the archive, even without a smoke test. Any other missing file is
 * a warning.
 *
 * @throws `HDL_PACK_FAILED` before the archive is uploaded.
 */
function refuseUnbuilt(
  release: Release,
  planned: PlannedPackage,
  fields: Fields,
  { programs, others }: MissingFiles,
): void {
  const { name } = planned.package
  if (programs.length > 0 && isImported(release, name)) {
    const problem =
      `its archive lacks ${programs.join(', ')}. Build it first; ` +
      'a package that Node does not import belongs into `smoke.installOnly` of the config'
    throw new HeddleError('HDL_PACK_FAILED', { package: name, problem })
  }
  const missing = [...programs, ...others]
  if (missing.length === 0) return
  const unbuilt = unbuiltFiles(fields, missing)
  if (unbuilt.length > 0 && release.options.build === false && hasScript(planned, 'build')) {
    throw notBuilt(planned, unbuilt)
  }
  release.incomplete.set(name, missing)
}

/** Whether its entry points are meant for Node. */
function isImported({ options: { installOnly = [] } }: Release, name: string): boolean {
  return installOnly.length === 0 || !picomatch([...installOnly])(name)
}

function hasScript({ package: { manifest: fields } }: PlannedPackage, event: string): boolean {
  const { scripts } = fields as { readonly scripts?: Readonly<Record<string, unknown>> }
  return typeof scripts?.[event] === 'string'
}

/** Whether npm would run something after the upload. */
export function hasPublishScripts(release: Release, name: string): boolean {
  if (release.options.ignoreScripts === true) return false
  return afterUpload.some((event) => hasScript(plannedOf(release, name), event))
}

/** `publish` and `postpublish`, once the registry has the version. */
export async function runPublishScripts(
  release: Release,
  name: string,
  context: JobContext,
): Promise<void> {
  await runLifecycle(release, plannedOf(release, name), afterUpload, context)
}

/** The statement about where the archive was built, kept by the journal. */
export async function sign(
  release: Release,
  packed: PackedPackage,
  context: JobContext,
): Promise<ProvenanceBundle> {
  const bundle = await signProvenance(packed, release.options.env ?? process.env)
  context.log('provenance is signed')
  return bundle
}

/** Milliseconds for which dist-tags are not read a second time: from `check` to `begin` where nothing is built. */
const tagsStayFor = 30_000

/** The dist-tags of a package, as the registry has them or had them a moment ago. */
async function readTags(
  release: Release,
  name: string,
  wait: WaitOptions,
): Promise<ReadonlyMap<string, string>> {
  const { distTags, kernel } = release
  const known = distTags.get(name)
  if (known !== undefined && kernel.clock.now() - known.at < tagsStayFor) return known.tags
  const tags = await release.registryFor(name).tags(name, wait)
  distTags.set(name, { tags, at: kernel.clock.now() })
  return tags
}

export async function begin(release: Release, name: string, context: JobContext): Promise<Begun> {
  const tags = await readTags(release, name, waitOf(context))
  const previous = tags.get(plannedOf(release, name).distTag) ?? null
  const { version, distTag, package: of } = plannedOf(release, name)
  return {
    sources: release.sourcesOf(name),
    previous,
    version,
    distTag,
    registry: release.registryFor(name).url,
    ecosystem: of.ecosystem,
    commit: release.repository?.head ?? null,
  }
}

export async function upload(
  release: Release,
  packed: PackedPackage,
  signed: ProvenanceBundle | undefined,
  context: JobContext,
): Promise<Uploaded> {
  const { name } = packed
  const { options, kernel } = release
  const { distTag, access } = plannedOf(release, name)
  const provenanceFile = options.provenance?.get(name)
  const common = {
    distTag,
    kernel,
    ...(access !== undefined && { access }),
    ...(options.otp !== undefined && { otp: options.otp }),
    ...(signed !== undefined && { provenance: signed }),
    ...(provenanceFile !== undefined && { provenanceFile }),
    ...(release.gitHead !== undefined && !release.edited.has(name) && { gitHead: release.gitHead }),
    ...waitOf(context),
  }
  const registry = release.registryFor(name)
  const tries = (options.retries ?? 3) + 1
  if (options.staged === true) {
    const result = await stageOnce(registry, packed, { ...common, tries })
    if (result.is === 'already-published') return { outcome: 'already-published', uploads: 0 }
    return { outcome: 'staged', uploads: 1, stageId: result.staged.id }
  }
  const uploadBegun = release.unsure.has(name)
  if (uploadBegun) context.log('an upload was cut short and may still show up: looking for it')
  const told = new Set<unknown>()
  const isTold = (error: unknown): boolean => told.has(error) || !told.add(error)
  const { outcome, uploads } = await publishOnce(registry, packed, {
    ...common,
    tries,
    backoff: { base: options.retryBaseDelay ?? 1_000, cap: 60_000 },
    ...(options.settle !== undefined && { settle: options.settle }),
    uploadBegun,
    onUpload: (attempt) => context.log(`upload ${attempt + 1} of ${name}@${packed.version}`),
    onFailure: (failure) => {
      for (const line of failureLines(failure, isTold(failure.error), kernel)) context.log(line)
    },
  })
  context.log(uploadWords[outcome])
  return { outcome, uploads }
}

/** What people wait for, and until when. The error itself is said once. */
function failureLines(
  { error, next, for: ms }: UploadFailure,
  isTold: boolean,
  { clock }: Kernel,
): string[] {
  const until = new Date(clock.wallTime() + ms).toTimeString().slice(0, 8)
  const seconds = Math.ceil(ms / 1_000)
  return [
    ...(isTold ? [] : [`upload attempt failed: ${messageOf(error)}`]),
    next === 'look'
      ? `it may have arrived: looking for it for at most ${seconds} s, until ${until}`
      : `uploading again in ${seconds} s, at ${until}`,
  ]
}

export async function approve(
  release: Release,
  packed: PackedPackage,
  uploaded: Uploaded,
  context: JobContext,
): Promise<void> {
  const registry = release.registryFor(packed.name)
  // A version that was published before has no staged upload to approve.
  if (uploaded.stageId === undefined) return
  const { otp, settle } = release.options
  await approveOnce(registry, packed, uploaded.stageId, {
    ...waitOf(context),
    kernel: release.kernel,
    ...(otp !== undefined && { otp }),
    ...(settle !== undefined && { settle }),
  })
}

/** @throws `HDL_NOT_VISIBLE` when the budget is over: dependents are not uploaded. */
export async function visible(
  release: Release,
  packed: PackedPackage,
  context: JobContext,
): Promise<void> {
  const registry = release.registryFor(packed.name)
  const seen = await waitVisible(registry, packed, visibleOptions(release, context))
  reportVisible(release, packed, seen, context)
}

/** The same for a version that another clone has published from this commit (G3). */
export async function installable(
  release: Release,
  name: string,
  context: JobContext,
): Promise<void> {
  const { version } = plannedOf(release, name)
  context.log('the registry has it, published from this commit')
  const seen = await waitInstallable(
    release.registryFor(name),
    { name, version },
    visibleOptions(release, context),
  )
  reportVisible(release, { name, version }, seen, context)
}

function visibleOptions(release: Release, context: JobContext): VisibleOptions {
  const { visibilityBudget: budget } = release.options
  return {
    kernel: release.kernel,
    ...(budget !== undefined && { budget }),
    ...waitOf(context),
    onLook: (looks, soFar) =>
      context.log(`not visible after ${Math.round(soFar / 1_000)} s (look ${looks})`),
  }
}

function reportVisible(
  release: Release,
  { name, version }: Pick<PackedPackage, 'name' | 'version'>,
  seen: Visibility,
  context: JobContext,
): void {
  if (seen.is === 'visible') return context.log('visible, with its archive')
  const { waited, lacks, error: cause } = seen
  const registry = release.registryFor(name).url
  const reason = cause instanceof Error ? cause.message : undefined
  throw new HeddleError(
    'HDL_NOT_VISIBLE',
    { package: name, version, registry, waited, lacks, reason },
    { cause },
  )
}

/**
 * The tag that installers ask for. That the version and its archive have our hashes, `visible` has read
 * just before, and the report reads it again at the end.
 */
export async function verify(
  release: Release,
  packed: PackedPackage,
  context: JobContext,
): Promise<void> {
  const { name, version } = packed
  const registry = release.registryFor(name)
  if (registry.ecosystem !== 'npm') return
  const { distTag } = plannedOf(release, name)
  const tagged = (await registry.tags(name, waitOf(context))).get(distTag)
  if (tagged === version) return
  const before = release.distTags.get(name)?.tags.get(distTag)
  // A newer release may have taken it.
  if (tagged !== undefined && tagged !== before && !isOlder(tagged, version)) return
  // A registry may set the tag later than the version, or not at all.
  await registry.setTag(name, distTag, version, waitOf(context))
  context.log(`moved the dist-tag ${distTag} from ${tagged ?? 'no version'} to ${version}`)
}

function isOlder(one: string, other: string): boolean {
  return semver.valid(one) === null || semver.lt(one, other)
}

export async function smoke(
  release: Release,
  packed: PackedPackage,
  context: JobContext,
): Promise<void> {
  const registry = release.registryFor(packed.name)
  // What installs Python packages from an arbitrary index differs from machine to machine.
  if (registry.ecosystem !== 'npm') return
  const { root } = release.plan.workspace
  const imports = isImported(release, packed.name)
  // A package without a scope goes to the registry from which its dependencies come.
  const planned = release.plan.packages.get(packed.name)!
  const plain = { ...planned, package: { ...planned.package, name: 'unscoped', manifest: {} } }
  const isScoped = packed.name.startsWith('@')
  const unscoped = isScoped ? release.options.registryOf(plain).url : registry.url
  const settings = { registry: registry.url, unscoped, root, imports }
  const { imported } = await smokeInstall(packed, settings, context.signal)
  const entries = imported === 1 ? 'its entry point' : `its ${imported} entry points`
  const also = imported === 0 ? '' : `, and ${entries} imported`
  context.log(`installed into an empty project${also}`)
}

/** Undefined where there is no repository, or no tag is wanted. */
export async function tag(
  release: Release,
  name: string,
  context: JobContext,
): Promise<string | undefined> {
  const planned = plannedOf(release, name)
  const made = gitTagOf(release, planned)
  const message = `${name} ${planned.version}`
  const is = await release.gitTags?.tag(made, message, waitOf(context))
  if (is === undefined) return undefined
  if (is === 'made') context.log(`tagged ${made}`)
  return made
}

/** A release of the forge for each tag (forge/forge.ts, F1). */
export async function announce(
  release: Release,
  forge: Forge,
  name: string,
  made: string,
  context: JobContext,
): Promise<void> {
  const planned = plannedOf(release, name)
  const { version, package: of } = planned
  const result = await forge.announce(
    {
      tag: made,
      title: `${name} ${version}`,
      notes: await notesOf(planned),
      commit: release.repository!.head,
      isPrerelease: prereleaseName(of.ecosystem, version) !== undefined,
    },
    waitOf(context),
  )
  if (result === 'made') context.log(`announced ${made} at ${forge.url}`)
}

function plannedOf({ plan }: Pick<Release, 'plan'>, name: string): PlannedPackage {
  return plan.packages.get(name)!
}

/** The Git tag that a package gets. */
export function gitTagOf(
  { plan, options }: Pick<Release, 'plan' | 'options'>,
  planned: PlannedPackage,
): string {
  const format = tagFormatOf(plan.workspace.tool, options.tagFormat)
  return tagName(planned.package.name, planned.version, format)
}

function waitOf({ signal }: JobContext): WaitOptions {
  return { signal }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
