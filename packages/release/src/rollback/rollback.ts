/**
 * Taking a release back, as far as registries let anybody take something back.
 *
 *   plan ──look at what the journal recorded and the registry holds──▶ steps ──apply──▶ done
 *
 * Published versions stay: others may depend on them already. The tag goes back to the version that
 * had it, so that nobody gets the new one without asking for it, and the new one is deprecated. Last
 * published, first taken back: at no moment a version is recommended that needs one that is not.
 *
 * Invariants, quoted by the tests:
 *  B1  Steps that have been done are not planned again: a rollback that was cut short is finished by
 *      calling it again.
 *  B2  A tag is moved only if it is on the version that is taken back; a newer release keeps it.
 *  B3  Only versions are touched that the journal says a release uploaded, or began to and the registry
 *      has them with the content that was packed.
 */
import type { Journal, WaitOptions } from '@heddle/core/lowlevel'
import type { PackedPackage, PlannedPackage, ReleasePlan } from '../model.ts'
import { inReleaseOrder } from '../plan/output/order.ts'
import type { Registry } from '../registry/registry.ts'
import { packedOf } from '../report/artifacts.ts'
import type { RegistryOf } from '../stages/options.ts'
import { nodeName } from '../stages/stages.ts'
import type { Begun, Uploaded } from '../stages/work.ts'

export type RollbackStep =
  | {
      readonly do: 'move-tag'
      readonly name: string
      readonly tag: string
      readonly from: string
      readonly to: string
    }
  | {
      readonly do: 'deprecate'
      readonly name: string
      readonly version: string
      readonly message: string
    }

export interface RollbackPlan {
  /** The release in the journal; undefined when there is none that uploaded anything of the plan. */
  readonly run: string | undefined
  /** In the order in which they are done. */
  readonly steps: readonly RollbackStep[]
  /** What cannot be taken back, as sentences. */
  readonly remarks: readonly string[]
}

export interface RollbackOptions extends WaitOptions {
  readonly registryOf: RegistryOf
  readonly message?: string
}

/**
 * What there is to do to take back the last release that uploaded something. Reads the registry,
 * changes nothing.
 *
 * *Cancellation*: leaves nothing behind.
 * *Fairness*: packages are looked at one after the other.
 */
export async function planRollback(
  journal: Journal | undefined,
  plan: ReleasePlan,
  options: RollbackOptions,
): Promise<RollbackPlan> {
  const steps: RollbackStep[] = []
  const remarks: string[] = []
  const { run, uploads } = await uploadsOf(journal, plan)
  if (run === undefined) {
    remarks.push('No release of these versions is recorded here.')
    return { run, steps, remarks }
  }
  for (const planned of inReleaseOrder(plan).toReversed()) {
    const { name } = planned.package
    const upload = uploads.get(name)
    if (upload === undefined) continue
    const registry = options.registryOf(planned)
    const standing = await registry.compare(upload.packed, options)
    const isThere = standing.is === 'ours'
    if (standing.is === 'different' || (!isThere && !upload.isSure)) continue
    if (registry.ecosystem !== 'npm') {
      remarks.push(`${name}@${planned.version}: yank it on ${registry.url}; its API has no way to.`)
      continue
    }
    const { version, tag } = planned
    const { previous } = upload
    const tagged = (await registry.tags(name, options)).get(tag)
    if (tagged === version) {
      if (previous === null) remarks.push(`${name}@${version} keeps "${tag}": it is the first.`)
      else if (previous === version)
        remarks.push(`${name}@${version} keeps "${tag}": who had it before is not recorded.`)
      else steps.push({ do: 'move-tag', name, tag, from: version, to: previous })
    }
    if (isThere && standing.found.deprecated === undefined) {
      const message = options.message ?? 'This release was taken back.'
      steps.push({ do: 'deprecate', name, version, message })
    }
  }
  return { run, steps, remarks }
}

/** An upload of a version that is planned, as the journal tells of it. */
interface RecordedUpload {
  readonly packed: PackedPackage
  /** Which version had the tag before; the version itself where that was asked too late. */
  readonly previous: string | null
  /** False when its end is not recorded: it may have happened. */
  readonly isSure: boolean
}

/**
 * B3: what was there before a release is none of its business. A version may have needed more than
 * one release, with other flags or without the archives of the first; the oldest knows who had the tag.
 */
async function uploadsOf(
  journal: Journal | undefined,
  plan: ReleasePlan,
): Promise<{ readonly run: string | undefined; readonly uploads: Map<string, RecordedUpload> }> {
  const uploads = new Map<string, RecordedUpload>()
  let run: string | undefined
  for (const { id } of (await journal?.runs()) ?? []) {
    const results = new Map<string, unknown>()
    for await (const [node, value] of journal!.results(id)) results.set(node, value)
    for (const planned of plan.packages.values()) {
      const found = uploadIn(results, planned)
      if (found === undefined) continue
      run ??= id
      const { name } = planned.package
      const later = uploads.get(name)
      const isTooLate = later === undefined || later.previous === planned.version
      uploads.set(name, {
        packed: later?.packed ?? found.packed,
        previous: isTooLate ? found.previous : later.previous,
        isSure: found.isSure || later?.isSure === true,
      })
    }
  }
  return { run, uploads }
}

function uploadIn(
  results: ReadonlyMap<string, unknown>,
  { package: { name }, version }: PlannedPackage,
): RecordedUpload | undefined {
  const packed = packedOf(results, name)
  const begun = results.get(nodeName(name, 'begin')) as Begun | null | undefined
  const uploaded = results.get(nodeName(name, 'upload')) as Uploaded | undefined
  if (packed?.version !== version || !begun) return undefined
  if (uploaded?.outcome === 'already-published') return undefined
  return { packed, previous: begun.previous, isSure: uploaded !== undefined }
}

/**
 * Does the steps, in order. `onStep` is told before each.
 *
 * *Cancellation*: ends between two steps or in one; planning again finds what is left (B1).
 * *Fairness*: one step after the other.
 */
export async function applyRollback(
  { steps }: RollbackPlan,
  plan: ReleasePlan,
  options: RollbackOptions & { readonly onStep?: (step: RollbackStep) => void },
): Promise<void> {
  for (const step of steps) {
    options.onStep?.(step)
    const registry: Registry = options.registryOf(plan.packages.get(step.name)!)
    if (step.do === 'move-tag') await registry.setTag(step.name, step.tag, step.to, options)
    else await registry.deprecate(step.name, step.version, step.message, options)
  }
}

export function describeStep(step: RollbackStep): string {
  return step.do === 'move-tag'
    ? `${step.name}: "${step.tag}" from ${step.from} back to ${step.to}`
    : `${step.name}@${step.version}: deprecate, "${step.message}"`
}
