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
 *  B3  Only versions that the journal says this release uploaded are touched.
 */
import type { Journal, WaitOptions } from '@heddle/core/lowlevel'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
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

type Results = ReadonlyMap<string, unknown>

/**
 * What there is to do to take back the last release that uploaded something. Reads the registry,
 * changes nothing.
 *
 * *Cancellation*: leaves nothing behind.
 * *Fairness*: packages are looked at one after the other.
 */
export async function planRollback(
  journal: Journal,
  plan: ReleasePlan,
  options: RollbackOptions,
): Promise<RollbackPlan> {
  const steps: RollbackStep[] = []
  const remarks: string[] = []
  const last = await lastRelease(journal, plan)
  if (last === undefined) {
    remarks.push('No release of these versions is recorded here.')
    return { run: undefined, steps, remarks }
  }
  const { run, results } = last
  for (const planned of inReleaseOrder(plan).toReversed()) {
    const { name } = planned.package
    const begun = results.get(nodeName(name, 'begin')) as Begun | null | undefined
    if (!hasUploaded(results, planned) || begun == null) continue
    const registry = options.registryOf(planned)
    if (registry.ecosystem !== 'npm') {
      remarks.push(`${name}@${planned.version}: yank it on ${registry.url}; its API has no way to.`)
      continue
    }
    const { version, tag } = planned
    const tagged = (await registry.tags(name, options)).get(tag)
    if (tagged === version) {
      if (begun.previous === null || begun.previous === version)
        remarks.push(`${name}@${version} keeps "${tag}": no other version ever had it.`)
      else steps.push({ do: 'move-tag', name, tag, from: version, to: begun.previous })
    }
    const found = await registry.read(name, version, options)
    if (found !== undefined && found.deprecated === undefined) {
      const message = options.message ?? 'This release was taken back.'
      steps.push({ do: 'deprecate', name, version, message })
    }
  }
  return { run, steps, remarks }
}

/** B3: what was there before a release is none of its business. */
function hasUploaded(results: Results, { package: { name }, version }: PlannedPackage): boolean {
  if (packedOf(results, name)?.version !== version) return false
  const uploaded = results.get(nodeName(name, 'upload')) as Uploaded | undefined
  return uploaded !== undefined && uploaded.outcome !== 'already-published'
}

async function lastRelease(
  journal: Journal,
  plan: ReleasePlan,
): Promise<{ readonly run: string; readonly results: Results } | undefined> {
  for (const { id } of await journal.runs()) {
    const results = new Map<string, unknown>()
    for await (const [node, value] of journal.results(id)) results.set(node, value)
    if ([...plan.packages.values()].some((planned) => hasUploaded(results, planned))) {
      return { run: id, results }
    }
  }
  return undefined
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
