/**
 * What each stage does. A stage gets what earlier stages of its package returned, and returns plain
 * data: the journal keeps it, and a release that goes on after a crash starts from there.
 *
 * Invariants, quoted by the tests:
 *  G1  Nothing is uploaded that was not packed and read back in this release or the one it goes on with.
 *  G2  `begin` is durable before the upload starts. Who finds another process's `begin` without the
 *      end of its upload takes the upload for one that may have happened.
 *  G3  A version that was released from an earlier commit is left alone: not built, packed or compared.
 */
import { HeddleError, type JobContext } from '@heddle/core'
import type { Kernel, WaitOptions } from '@heddle/core/lowlevel'
import { tagName, type Repository } from '../git/repository.ts'
import { releaseManifest } from '../manifest/npm-manifest.ts'
import type { PackedPackage, PlannedPackage, ReleasePlan } from '../model.ts'
import { packNpm } from '../pack/npm.ts'
import { packPython } from '../pack/python.ts'
import { runScript } from '../pack/run-script.ts'
import { publishOnce, type PublishResult } from '../registry/reconcile.ts'
import type { Registry } from '../registry/registry.ts'
import { stageOnce } from '../registry/stage-once.ts'
import { waitVisible } from '../registry/visible.ts'
import type { ReleaseOptions } from './options.ts'
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
  /** Where archives go. */
  readonly folder: string
  /** Of this process: see G2. */
  readonly token: string
  /** Whether uploads of an earlier process may have happened that no journal tells of. */
  readonly isUnsure: boolean
  registryFor(name: string): Registry
}

/** What the registry said before anything was done. */
export interface Checked {
  /** Released before, from another commit (G3). */
  readonly isOld: boolean
}

/** The last thing that is written down before an upload. */
export interface Begun {
  /** The process that begins: see G2. */
  readonly by: string
  /** The version that had the tag until now; null when none had. A rollback gives it back. */
  readonly previous: string | null
}

export interface Uploaded {
  readonly outcome: PublishResult['outcome'] | 'staged'
  readonly uploads: number
  /** With `staged`: what is approved. */
  readonly stageId?: string
}

/** The versions that npm runs around a publication, in its order. */
const lifecycle = ['prepublishOnly', 'prepack', 'prepare'] as const

/** @throws `HDL_LOCAL_RANGE` for a range that nobody else can install. */
export function manifest({ plan }: Release, name: string): void {
  const planned = plannedOf({ plan }, name)
  if (planned.package.ecosystem === 'npm') releaseManifest(planned, plan)
}

export async function check(release: Release, name: string, context: JobContext): Promise<Checked> {
  const planned = plannedOf(release, name)
  const commit = release.tags.get(tagOf(release, planned))
  if (commit === undefined || commit === release.repository?.head) return { isOld: false }
  const found = await release.registryFor(name).read(name, planned.version, waitOf(context))
  return { isOld: found !== undefined }
}

export async function build(release: Release, name: string, context: JobContext): Promise<void> {
  const planned = plannedOf(release, name)
  if (planned.package.ecosystem !== 'npm') return
  const { build: script = 'build' } = release.options
  const scripts = script === false ? lifecycle : [script, ...lifecycle]
  for (const each of scripts) {
    const { signal } = context
    const result = await runScript(planned.package, each, { signal, version: planned.version })
    if (result !== undefined) context.log(`script "${each}" ended well`)
  }
}

export async function pack(
  release: Release,
  name: string,
  context: JobContext,
): Promise<PackedPackage> {
  const planned = plannedOf(release, name)
  const options = { folder: release.folder, kernel: release.kernel, ...waitOf(context) }
  const packed =
    planned.package.ecosystem === 'npm'
      ? await packNpm(planned, release.plan, {
          ...options,
          // What the build has seen is what is packed.
          ...(release.options.pin === 'in-place' && { manifestFrom: 'disk' }),
        })
      : await packPython(planned, release.plan, options)
  for (const { size, integrity } of packed.artifacts) {
    context.log(`${size} bytes, ${integrity}`)
  }
  return packed
}

export async function begin(release: Release, name: string, context: JobContext): Promise<Begun> {
  const tags = await release.registryFor(name).tags(name, waitOf(context))
  return { by: release.token, previous: tags.get(plannedOf(release, name).tag) ?? null }
}

export async function upload(
  release: Release,
  packed: PackedPackage,
  begun: Begun,
  context: JobContext,
): Promise<Uploaded> {
  const { name } = packed
  const { options, kernel } = release
  const { tag, access } = plannedOf(release, name)
  const provenanceFile = options.provenance?.get(name)
  const common = {
    tag,
    kernel,
    ...(access !== undefined && { access }),
    ...(options.otp !== undefined && { otp: options.otp }),
    ...(provenanceFile !== undefined && { provenanceFile }),
    ...waitOf(context),
  }
  const registry = release.registryFor(name)
  if (options.staged === true) {
    const result = await stageOnce(registry, packed, common)
    if (result.is === 'already-published') return { outcome: 'already-published', uploads: 0 }
    return { outcome: 'staged', uploads: 1, stageId: result.staged.id }
  }
  const { outcome, uploads, errors } = await publishOnce(registry, packed, {
    ...common,
    tries: (options.retries ?? 3) + 1,
    backoff: { base: options.retryBaseDelay ?? 1_000, cap: 60_000 },
    ...(options.settle !== undefined && { settle: options.settle }),
    uploadBegun: release.isUnsure || begun.by !== release.token,
    onUpload: (attempt) => context.log(`upload ${attempt + 1} of ${name}@${packed.version}`),
  })
  for (const error of errors) context.log(`on the way: ${messageOf(error)}`)
  return { outcome, uploads }
}

export async function approve(
  release: Release,
  packed: PackedPackage,
  uploaded: Uploaded,
  context: JobContext,
): Promise<void> {
  const { stages } = release.registryFor(packed.name)
  if (uploaded.stageId === undefined || stages === undefined) return
  const { otp } = release.options
  await stages.approve(uploaded.stageId, { ...waitOf(context), ...(otp !== undefined && { otp }) })
}

/** @throws `HDL_NOT_VISIBLE` when the budget is over: what depends on it is not uploaded. */
export async function visible(
  release: Release,
  packed: PackedPackage,
  context: JobContext,
): Promise<void> {
  const { name, version } = packed
  const registry = release.registryFor(name)
  const { visibilityBudget: budget } = release.options
  const { is, waited } = await waitVisible(registry, packed, {
    kernel: release.kernel,
    ...(budget !== undefined && { budget }),
    ...waitOf(context),
    onLook: (looks, soFar) =>
      context.log(`not visible after ${looks} looks, ${Math.round(soFar / 1_000)} s`),
  })
  if (is === 'visible') return
  throw new HeddleError('HDL_NOT_VISIBLE', {
    package: name,
    version,
    registry: registry.url,
    waited,
  })
}

/** What installers will see: our hashes under the version, and the tag on it. */
export async function verify(
  release: Release,
  packed: PackedPackage,
  context: JobContext,
): Promise<void> {
  const { name, version } = packed
  const registry = release.registryFor(name)
  const standing = await registry.compare(packed, waitOf(context))
  if (standing.is !== 'ours') {
    const found = standing.is === 'different' ? standing.found : standing.is
    const expected = packed.artifacts.map(({ integrity }) => integrity).join(', ')
    const details = { package: name, version, registry: registry.url, expected, found }
    throw new HeddleError('HDL_VERSION_CONFLICT', details)
  }
  if (registry.ecosystem !== 'npm') return
  const { tag } = plannedOf(release, name)
  const tagged = (await registry.tags(name, waitOf(context))).get(tag)
  // A registry may set the tag later than the version, or a newer release may have taken it.
  if (tagged === undefined) await registry.setTag(name, tag, version, waitOf(context))
}

export async function smoke(
  release: Release,
  packed: PackedPackage,
  context: JobContext,
): Promise<void> {
  const registry = release.registryFor(packed.name)
  // What installs Python packages from an arbitrary index differs from machine to machine.
  if (registry.ecosystem !== 'npm') return
  await smokeInstall(packed, registry.url, context.signal)
}

export async function tag(
  release: Release,
  name: string,
  context: JobContext,
): Promise<string | undefined> {
  const { repository, options } = release
  if (repository === undefined) return undefined
  const planned = plannedOf(release, name)
  const made = tagOf(release, planned)
  await repository.tag(made, `${name} ${planned.version}`, waitOf(context))
  if (options.push !== undefined) await repository.push(options.push, [made], waitOf(context))
  return made
}

export function plannedOf({ plan }: Pick<Release, 'plan'>, name: string): PlannedPackage {
  return plan.packages.get(name)!
}

export function tagOf({ plan }: Pick<Release, 'plan'>, planned: PlannedPackage): string {
  return tagName(planned.package.name, planned.version, plan.workspace.tool === 'single')
}

function waitOf({ signal }: JobContext): WaitOptions {
  return { signal }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
