/**
 * Taking a release back, as far as registries allow it.
 *
 *   journal ──one release──▶ read its versions on the registry ──▶ steps ──apply──▶ done
 *
 * Published versions stay: others may depend on them already. The tag goes back to the version that
 * had it, so that no one installs the new one without asking for it, and the new one is deprecated. Last
 * published, first taken back: at no moment a version is recommended that needs one that is not.
 *
 * Invariants, quoted by the tests:
 *  B1  Steps that have been done are not planned again: a rollback that was cut short is finished by
 *      calling it again.
 *  B2  A tag is moved only if it is on the version that is taken back; a newer release keeps it.
 *  B3  Only versions are touched that the journal says a release uploaded, or began to and the registry
 *      has them with the content that was packed.
 *  B4  What is taken back is read from the journal, never planned again: a plan made now is about the
 *      next release. With more than one release recorded, the caller names one.
 */
import { HeddleError } from '@heddle/core'
import type { Journal, WaitOptions } from '@heddle/core/lowlevel'
import type { Ecosystem, PackedPackage } from '../model.ts'
import type { Registry } from '../registry/registry.ts'
import { matching } from '../plan/selection.ts'
import { packedOf } from '../report/artifacts.ts'
import { refusedUploads } from '../stages/earlier.ts'
import { nodeName, partsOf } from '../stages/stages.ts'
import type { Begun, Uploaded } from '../stages/stage-functions.ts'

interface StepPlace {
  readonly name: string
  readonly registry: string
}

export type RollbackStep = StepPlace &
  (
    | {
        readonly do: 'move-tag'
        readonly distTag: string
        readonly from: string
        readonly to: string
      }
    | { readonly do: 'deprecate'; readonly version: string; readonly message: string }
  )

/** A release that the journal has recorded. */
export interface RecordedRelease {
  readonly id: string
  readonly startedAt: number
  /** `name@version` of uploaded versions, in the order of their uploads. */
  readonly versions: readonly string[]
}

export interface RollbackPlan {
  /** The release in the journal; undefined when there is none that uploaded anything. */
  readonly run: string | undefined
  /** In the order in which they are done. */
  readonly steps: readonly RollbackStep[]
  /** What cannot be taken back, as sentences. */
  readonly remarks: readonly string[]
}

export interface RollbackOptions extends WaitOptions {
  readonly registryAt: (url: string, ecosystem: Ecosystem) => Registry
  /** The id of the release, or the beginning of it. */
  readonly release?: string
  /** Patterns of names: only these packages of the release. All of them when absent. */
  readonly include?: readonly string[]
  /** Patterns of names: not these packages of the release. */
  readonly exclude?: readonly string[]
  readonly message?: string
}

/**
 * What there is to do to take back a release. Reads the journal and the registry, changes nothing.
 *
 * *Cancellation*: leaves nothing behind.
 * *Fairness*: packages are checked one after the other.
 * @throws `HDL_RELEASE_UNKNOWN` when no release, or more than one, is meant; `HDL_BAD_OPTION` for a pattern that
 * matches nothing of the release.
 */
export async function planRollback(
  journal: Journal | undefined,
  options: RollbackOptions,
): Promise<RollbackPlan> {
  const steps: RollbackStep[] = []
  const remarks: string[] = []
  const all = await readUploads(journal)
  const releases = await withUploads(all, options)
  if (releases.length === 0 && (options.release === undefined || all.length > 0)) {
    remarks.push('No release that uploaded something is recorded here.')
    return { run: undefined, steps, remarks }
  }
  const release = chooseRelease(releases, options.release)
  const older = releases.slice(releases.indexOf(release) + 1)
  const chosen = chosenNames(release.uploads, options)
  for (const upload of release.uploads.toReversed()) {
    const { packed, begun } = upload
    if (!chosen.has(packed.name)) continue
    const { name, version } = packed
    const registry = options.registryAt(begun.registry, begun.ecosystem)
    const standing = await registry.compare(packed, options)
    if (standing.is === 'different') continue
    const isThere = standing.is === 'ours'
    if (registry.ecosystem !== 'npm') {
      remarks.push(`${name}@${version}: yank it on ${registry.url}; its API has no way to.`)
      continue
    }
    // Older journals call it by another name.
    const distTag = begun.distTag ?? (begun as unknown as { readonly tag: string }).tag
    const place = { name, registry: begun.registry }
    const previous = previousOf(upload, older)
    const tagged = (await registry.tags(name, options)).get(distTag)
    if (tagged === version) {
      if (previous === null)
        remarks.push(`${name}@${version} keeps "${distTag}": no version had it before.`)
      else if (previous === version)
        remarks.push(
          `${name}@${version} keeps "${distTag}": the version that had it before is not recorded.`,
        )
      else steps.push({ ...place, do: 'move-tag', distTag, from: version, to: previous })
    }
    if (isThere && standing.found.deprecated === undefined) {
      const message = options.message ?? 'This version was rolled back.'
      steps.push({ ...place, do: 'deprecate', version, message })
    }
  }
  return { run: release.id, steps, remarks }
}

/** An upload as the journal recorded it. */
interface RecordedUpload {
  readonly packed: PackedPackage
  readonly begun: Begun
  /** False when its end is not recorded: it may have happened. */
  readonly isSure: boolean
}

interface ReleaseUploads {
  readonly id: string
  readonly startedAt: number
  readonly uploads: readonly RecordedUpload[]
}

/**
 * The releases that uploaded something, or began to and were cut short, newest first.
 *
 * *Cancellation*: none; it reads a file of this machine.
 */
export async function recordedReleases(journal: Journal | undefined): Promise<RecordedRelease[]> {
  return (await readUploads(journal)).map(summaryOf)
}

function summaryOf({ id, startedAt, uploads }: ReleaseUploads): RecordedRelease {
  const versions = uploads.map(({ packed }) => `${packed.name}@${packed.version}`)
  return { id, startedAt, versions }
}

/** B3: versions that were there before a release are not part of it, nor are those that the registry has refused. */
async function readUploads(journal: Journal | undefined): Promise<ReleaseUploads[]> {
  const releases: ReleaseUploads[] = []
  for (const { id, startedAt } of (await journal?.runs()) ?? []) {
    const results = new Map<string, unknown>()
    for await (const [node, value] of journal!.results(id)) results.set(node, value)
    const begun = [...results.keys()].flatMap((node) => {
      const parts = partsOf(node)
      return parts?.stage === 'begin' ? [parts.name] : []
    })
    const recorded = begun.flatMap((name) => uploadIn(results, name) ?? [])
    const refused = recorded.every(({ isSure }) => isSure)
      ? new Set<string>()
      : refusedUploads((await journal!.snapshot(id)).nodes)
    const uploads = recorded.filter(({ isSure, packed }) => isSure || !refused.has(packed.name))
    if (uploads.length > 0) releases.push({ id, startedAt, uploads })
  }
  return releases
}

/** B3: an upload whose end is not recorded counts where the registry has what was packed. */
async function withUploads(
  releases: readonly ReleaseUploads[],
  options: RollbackOptions,
): Promise<ReleaseUploads[]> {
  const held: ReleaseUploads[] = []
  for (const release of releases) {
    const uploads: RecordedUpload[] = []
    for (const upload of release.uploads) {
      const { packed, begun, isSure } = upload
      const registry = options.registryAt(begun.registry, begun.ecosystem)
      if (isSure || (await registry.compare(packed, options)).is === 'ours') uploads.push(upload)
    }
    if (uploads.length > 0) held.push({ ...release, uploads })
  }
  return held
}

function uploadIn(results: ReadonlyMap<string, unknown>, name: string): RecordedUpload | undefined {
  const packed = packedOf(results, name)
  const begun = results.get(nodeName(name, 'begin')) as Begun | null | undefined
  const uploaded = results.get(nodeName(name, 'upload')) as Uploaded | undefined
  if (packed === undefined || !begun || uploaded?.outcome === 'already-published') return undefined
  return { packed, begun, isSure: uploaded !== undefined }
}

/** The packages of a release that are to be taken back. */
function chosenNames(
  uploads: readonly RecordedUpload[],
  { include, exclude = [] }: RollbackOptions,
): Set<string> {
  const names = new Map(uploads.map(({ packed: { name } }) => [name, true]))
  const of = 'the release'
  const chosen =
    include === undefined ? new Set(names.keys()) : matching('include', include, names, of)
  for (const name of matching('exclude', exclude, names, of)) chosen.delete(name)
  return chosen
}

/** B4 */
function chooseRelease(
  releases: readonly ReleaseUploads[],
  id: string | undefined,
): ReleaseUploads {
  const meant = id === undefined ? releases : releases.filter((each) => each.id.startsWith(id))
  const [only] = meant
  if (meant.length === 1) return only!
  const described = (meant.length === 0 ? releases : meant).map((each) => {
    const { versions, startedAt } = summaryOf(each)
    const more = versions.length > 3 ? ` and ${versions.length - 3} more` : ''
    return `${each.id}  ${new Date(startedAt).toISOString()}  ${versions.slice(0, 3).join(', ')}${more}`
  })
  throw new HeddleError('HDL_RELEASE_UNKNOWN', { release: id, releases: described })
}

/** A version may have needed more than one release; the oldest has recorded which version had the tag. */
function previousOf(
  { packed: { name, version }, begun }: RecordedUpload,
  older: readonly ReleaseUploads[],
): string | null {
  let { previous } = begun
  for (const { uploads } of older) {
    const same = uploads.find(({ packed }) => packed.name === name && packed.version === version)
    if (previous === version && same !== undefined) ({ previous } = same.begun)
  }
  return previous
}

/**
 * Does the steps, in order. `onStep` is called before each.
 *
 * *Cancellation*: ends between two steps or in one; planning again finds the remaining steps (B1).
 * *Fairness*: one step after the other.
 */
export async function applyRollback(
  { steps }: RollbackPlan,
  options: RollbackOptions & { readonly onStep?: (step: RollbackStep) => void },
): Promise<void> {
  for (const step of steps) {
    options.onStep?.(step)
    const registry = options.registryAt(step.registry, 'npm')
    if (step.do === 'move-tag') await registry.setTag(step.name, step.distTag, step.to, options)
    else await registry.deprecate(step.name, step.version, step.message, options)
  }
}

export function describeStep(step: RollbackStep): string {
  return step.do === 'move-tag'
    ? `move the dist-tag "${step.distTag}" of ${step.name} from ${step.from} back to ${step.to}`
    : `deprecate ${step.name}@${step.version}: "${step.message}"`
}
