/**
 * How a release ended. The outcome of a package comes from its registry (L4); the stages only explain
 * why something is not there, or what came after it.
 */
import { HeddleError, type GraphResult } from '@heddle/core'
import type { Recovery } from '@heddle/core/lowlevel'
import type { Ecosystem, PlannedPackage, ReleaseOutcome } from '../model.ts'
import { planWarnings } from '../plan/check-plan.ts'
import { inReleaseOrder } from '../plan/output/plan-levels.ts'
import type { Registry, Standing } from '../registry/registry.ts'
import { nodeName, partsOf, stageNames, type StageName } from '../stages/stages.ts'
import { gitTagOf, type Checked, type Release, type Uploaded } from '../stages/stage-functions.ts'
import { packedOf } from './artifacts.ts'
import type { StageTimes } from './stage-times.ts'

/** Something that went wrong with a package. */
export interface Problem {
  readonly stage: StageName | 'report'
  readonly code: string | undefined
  readonly message: string
  readonly help?: string
}

export interface PackageReport {
  readonly name: string
  readonly version: string
  readonly ecosystem: Ecosystem
  readonly registry: string
  readonly outcome: ReleaseOutcome
  /** Whether its registry has the version, as it was read at the end; absent where the registry did not answer. */
  readonly isOnRegistry?: boolean
  /** `sha512-…` of its first archive, where it was packed. */
  readonly integrity?: string
  /** How often it was uploaded, over all processes of this release. */
  readonly uploads: number
  /** The Git tag, where there is one. */
  readonly gitTag?: string
  /** The package whose failure keeps this one from being released. */
  readonly blockedBy?: string
  /** Milliseconds that each stage has run in this process. */
  readonly stages: Readonly<Partial<Record<StageName, number>>>
  readonly problems: readonly Problem[]
}

export interface ReleaseReport {
  /** Every package is on its registry with our content, and nothing went wrong after that. */
  readonly ok: boolean
  readonly isDryRun: boolean
  readonly isCancelled: boolean
  /** Its id in the journal. */
  readonly run: string | undefined
  /** In the order of the release. */
  readonly packages: readonly PackageReport[]
  readonly warnings: readonly string[]
  /** Manifests that a killed release had left pinned. */
  readonly restored: readonly string[]
  readonly ms: number
}

export interface Ended {
  readonly id: string | undefined
  readonly ended: GraphResult
  readonly results: ReadonlyMap<string, unknown>
  readonly recovered: Recovery
  /** Why a manifest that was pinned in place could not be restored. */
  readonly unrestored: unknown
  readonly times: StageTimes
  /** Warnings of the checks before the stages. */
  readonly warnings: readonly string[]
}

/** Milliseconds that a registry has to answer: people who cancel do not wait for the report. */
const reportDeadline = { finished: 60_000, cancelled: 5_000 }

export async function makeReport(release: Release, run: Ended): Promise<ReleaseReport> {
  const included = inReleaseOrder(release.plan).filter(({ status }) => status === 'included')
  const packages = await Promise.all(included.map((planned) => reportOf(release, run, planned)))
  const isDryRun = release.options.dryRun === true
  const isThere = ({ outcome, problems }: PackageReport): boolean =>
    problems.length === 0 &&
    (outcome === 'already-published' || outcome === (isDryRun ? 'skipped' : 'published'))
  return {
    ok: packages.every(isThere) && run.ended.state !== 'cancelled' && run.unrestored === undefined,
    isDryRun,
    isCancelled: run.ended.state === 'cancelled',
    run: run.id,
    packages,
    warnings: [
      ...new Set([...unrestoredWarning(run), ...run.warnings, ...(await warningsOf(release, run))]),
    ],
    restored: run.recovered.restored,
    ms: 0,
  }
}

async function reportOf(
  release: Release,
  { ended, results, times }: Ended,
  planned: PlannedPackage,
): Promise<PackageReport> {
  const { name, ecosystem } = planned.package
  const registry = release.registryFor(name)
  const packed = packedOf(results, name)
  const uploaded = results.get(nodeName(name, 'upload')) as Uploaded | undefined
  const checked = results.get(nodeName(name, 'check')) as Checked | undefined
  const problems = problemsOf(ended, name)
  const isCancelled = ended.state === 'cancelled'
  const deadline = reportDeadline[isCancelled ? 'cancelled' : 'finished']
  let standing: Found | 'unknown' = { is: 'absent' }
  try {
    // What was not packed may be there all the same (L4).
    if (packed !== undefined) standing = await registry.compare(packed, { deadline })
    else if (await isOnRegistry(registry, planned, checked, deadline)) standing = { is: 'there' }
  } catch (error) {
    standing = 'unknown'
    if (packed !== undefined) problems.push(problemOf('report', error))
  }
  const blockedBy = blockerOf(ended, name)
  const tag = results.get(nodeName(name, 'tag')) as string | null | undefined
  const oldTag = gitTagOf(release, planned)
  const shownTag = tag ?? (release.tags.has(oldTag) ? oldTag : undefined)
  return {
    name,
    version: planned.version,
    ecosystem,
    registry: registry.url,
    outcome: outcomeOf({ standing, uploaded, problems, blockedBy }),
    ...(standing !== 'unknown' && { isOnRegistry: standing.is !== 'absent' }),
    ...(packed !== undefined && { integrity: packed.artifacts[0]!.integrity }),
    uploads: uploaded?.uploads ?? 0,
    ...(shownTag !== undefined && { gitTag: shownTag }),
    ...(blockedBy !== undefined && { blockedBy }),
    stages: times.of(name),
    problems,
  }
}

/** The first stage of a package has seen it, or it is read now. */
async function isOnRegistry(
  registry: Registry,
  { version, package: { name } }: PlannedPackage,
  checked: Checked | undefined,
  deadline: number,
): Promise<boolean> {
  if (checked?.isOld === true) return true
  return (await registry.read(name, version, { deadline })) !== undefined
}

/** What the registry has of a version: compared with the archive, or only seen where there is none. */
type Found = Standing | { readonly is: 'there' }

interface Findings {
  readonly standing: Found | 'unknown'
  readonly uploaded: Uploaded | undefined
  readonly problems: readonly Problem[]
  readonly blockedBy: string | undefined
}

/** Foreign content, or content that differs from the registry's hashes. */
const conflicts = new Set(['HDL_VERSION_CONFLICT', 'HDL_ARCHIVE_DIFFERS', 'HDL_VERSION_TAKEN'])

function outcomeOf({ standing, uploaded, problems, blockedBy }: Findings): ReleaseOutcome {
  if (standing !== 'unknown' && standing.is === 'different') return 'conflict'
  if (problems.some(({ code }) => conflicts.has(code ?? ''))) return 'conflict'
  // Its document may be there without its archive.
  if (problems.some(({ code }) => code === 'HDL_NOT_VISIBLE')) return 'accepted-not-visible'
  if (standing !== 'unknown' && standing.is === 'ours') {
    const wasThere = uploaded === undefined || uploaded.outcome === 'already-published'
    return wasThere ? 'already-published' : 'published'
  }
  // Not packed, because an earlier release or another tool has published it, or because this one did not come to it.
  if (standing !== 'unknown' && standing.is === 'there') return 'already-published'
  if (uploaded !== undefined) return 'accepted-not-visible'
  // Being unable to check it now is not a failure of its own.
  const isOwnFailure = problems.some(({ stage }) => stage !== 'report')
  if (blockedBy !== undefined && !isOwnFailure) return 'blocked'
  return problems.length > 0 ? 'failed' : 'skipped'
}

function problemsOf(ended: GraphResult, name: string): Problem[] {
  return stageNames.flatMap((stage) => {
    const node = nodeName(name, stage)
    if (ended.failed.has(node)) return [problemOf(stage, ended.failed.get(node))]
    const errors = ended.cancelled.includes(node) ? (ended.errors.get(node) ?? []) : []
    return errors.slice(-1).map((error) => problemOf(stage, error))
  })
}

function problemOf(stage: Problem['stage'], error: unknown): Problem {
  if (!(error instanceof HeddleError)) {
    const message = error instanceof Error ? error.message : String(error)
    return { stage, code: undefined, message }
  }
  return { stage, code: error.code, message: error.message, help: error.help }
}

/** The other package whose stage keeps one of this package's from starting. */
function blockerOf(ended: GraphResult, name: string): string | undefined {
  for (const stage of stageNames) {
    const cause = ended.blocked.get(nodeName(name, stage))
    if (cause === undefined) continue
    const blocker = partsOf(cause)?.name
    if (blocker !== undefined && blocker !== name) return blocker
  }
  return undefined
}

function unrestoredWarning({ unrestored }: Ended): string[] {
  if (unrestored === undefined) return []
  const { message } = problemOf('report', unrestored)
  const code = unrestored instanceof HeddleError ? ` [${unrestored.code}]` : ''
  return [`${message}${code}`]
}

/** O3 */
async function unraisedWarning({ plan, origins }: Release, { results }: Ended): Promise<string[]> {
  const old = [...plan.packages.values()].flatMap(({ package: of }) => {
    const checked = results.get(nodeName(of.name, 'check')) as Checked | undefined
    return checked?.isOld === true ? [{ of, ...checked }] : []
  })
  const published = old.flatMap(({ of, from }) => (from === undefined ? [] : [{ of, from }]))
  const changed = new Set(await origins?.changedSince(published, {}))
  const names = old
    .filter(({ of, isOutgrown }) => isOutgrown === true || changed.has(of.name))
    .map(({ of }) => of.name)
  if (names.length === 0) return []
  return [`Changed since they were published, with the same version: ${names.join(', ')}.`]
}

/** G3: what was published before keeps its dist-tags, also where another one was asked for. */
function distTagWarning({ plan }: Release, { results }: Ended): string[] {
  const { distTag } = plan
  if (distTag === undefined) return []
  const lacking = inReleaseOrder(plan).flatMap(({ version, package: { name } }) => {
    const checked = results.get(nodeName(name, 'check')) as Checked | undefined
    return checked?.lacksDistTag === true ? [`${name}@${version}`] : []
  })
  if (lacking.length === 0) return []
  const [first] = lacking
  return [
    `Published before, and left without the dist-tag "${distTag}": ${named(lacking)}. Set it with: npm dist-tag add ${first} ${distTag}`,
  ]
}

async function warningsOf(release: Release, run: Ended): Promise<string[]> {
  const { plan, repository } = release
  const changes = (await repository?.changes()) ?? []
  const dirty =
    changes.length === 0
      ? []
      : [
          `Files of the work tree are changed (${changes.length}): the released files differ from the commit.`,
        ]
  const unraised = await unraisedWarning(release, run)
  const untagged = distTagWarning(release, run)
  const incomplete = incompleteWarning(release)
  return [...planWarnings(plan), ...dirty, ...unraised, ...untagged, ...incomplete]
}

/** Packages that a warning names, at most. */
const mostNamed = 5

function incompleteWarning({ incomplete }: Release): string[] {
  if (incomplete.size === 0) return []
  const lacking = Array.from(incomplete, ([name, files]) => `${name}: ${files.join(', ')}`)
  return [`Manifests name files that the archives lack: ${named(lacking, '; ')}.`]
}

function named(packages: readonly string[], separator = ', '): string {
  const rest = packages.length - mostNamed
  const more = rest > 0 ? [`and ${rest} more packages`] : []
  return [...packages.slice(0, mostNamed), ...more].join(separator)
}
