/**
 * A release from its plan to its report.
 *
 *   lock ─▶ restore manifests of a killed release ─▶ find a release to resume ─▶ stages ─▶ report
 *
 * Invariants, quoted by the tests:
 *  L1  At most one release per repository is under way on a machine; between clones that share a remote,
 *      the lease of lock/lease.ts says whose turn it is.
 *  L2  Nothing is planned, built or uploaded from manifests that a killed release left pinned: they are
 *      restored first.
 *  L3  The same plan from the same commit is resumed where the last release of it stopped, without being
 *      asked to; any other plan is a release of its own.
 *  L4  What the report says of a package is what its registry holds at the end.
 *  L5  Nothing is published from changesets that no version was made of: their next release would get
 *      the same versions, and be taken for published.
 *  L6  However often a release was killed in the same stage, the same command finishes it: stages that the
 *      journal sets aside after three kills are run again at once.
 */
import { createHash } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import {
  HeddleError,
  isError,
  startRun,
  type Graph,
  type GraphResult,
  type RunOptions,
} from '@heddle/core'
import {
  holdLock,
  openJournal,
  recover,
  systemKernel,
  type Journal,
  type Recovery,
  type WaitOptions,
} from '@heddle/core/lowlevel'
import { VersionOrigins } from '../git/origins.ts'
import { Repository } from '../git/repository.ts'
import { checkTagFormat, tagFolders } from '../git/tag-format.ts'
import { TagQueue } from '../git/tag-queue.ts'
import { holdLease, type LeasedUploads } from '../lock/lease.ts'
import { makeReleaseFolder, type ReleaseFolder } from '../lock/release-folder.ts'
import { refuseUnfinished } from '../lock/unfinished.ts'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import { requireInstallable } from '../plan/check-plan.ts'
import { versionChange } from '../plan/output/plan-levels.ts'
import { distTagProblem } from '../plan/release-problems.ts'
import { matching } from '../plan/selection.ts'
import { finishScripts } from '../pack/unfinished-scripts.ts'
import { preflight } from '../preflight/preflight.ts'
import { BuildOutput } from '../preflight/build-output.ts'
import { readNpmConfig, type NpmConfig } from '../registry/npm/npmrc.ts'
import { wantsProvenance } from '../registry/npm/sign-provenance.ts'
import type { Registry } from '../registry/registry.ts'
import { makeReport, type ReleaseReport } from '../report/report.ts'
import { StageTimes } from '../report/stage-times.ts'
import { untaggedWarning } from '../report/untagged.ts'
import { finishVersions } from '../version/write-files.ts'
import { readEarlier, type Earlier } from './earlier.ts'
import { Edits } from './edits.ts'
import { expand } from './expand.ts'
import { finishTags, untaggedUploads, type UntaggedUpload } from './finish-tags.ts'
import { resourcesOf, type ReleaseOptions } from './release-options.ts'
import { holdPins } from './pins.ts'
import type { Release } from './stage-functions.ts'

/**
 * Publishes the included packages of a plan. Resolves also when some could not be published: check
 * `ok`.
 *
 * *Cancellation*: aborting `signal` ends the stages under way; accepted uploads are in the
 * report, and calling it again finishes the release.
 * *Fairness*: a package is built, packed and uploaded as soon as its dependencies are there.
 * @throws `HDL_LOCKED` and `HDL_RELEASE_LEASED` when a release is under way; `HDL_PREFLIGHT`, `HDL_CHANGES_PENDING`,
 * `HDL_PLAN_INVALID` and `HDL_PLAN_STALE` before anything is done; `HDL_RESTORE_CONFLICT`, `HDL_JOURNAL_NEWER`,
 * `HDL_JOURNAL_DAMAGED`.
 */
export async function publishRelease(
  given: ReleasePlan,
  options: ReleaseOptions,
): Promise<ReleaseReport> {
  let plan = given
  for (;;) {
    const ended = await publishPlan(plan, options)
    if (!('tags' in ended)) return ended
    // Commits before these tags were counted as new.
    plan = await planAgain(ended.tags, options)
  }
}

/** A plan from commits is stale when tags had to be made that a killed release did not come to. */
async function publishPlan(
  given: ReleasePlan,
  options: ReleaseOptions,
): Promise<ReleaseReport | { readonly tags: readonly string[] }> {
  const { root } = given.workspace
  if (options.tagFormat !== undefined) checkTagFormat(options.tagFormat)
  const { kernel = systemKernel, signal } = options
  const wait = signal === undefined ? {} : { signal }
  const folder = await makeReleaseFolder(root, signal)
  await using _lock = await holdLock(folder.lock, { command: 'heddle release publish', kernel })
  if (options.dryRun === true) await refuseUnfinished(folder)
  const recovered = await recoverPins(folder)
  const scripted = await finishScripts(folder.scripts, wait)
  const versioned = await finishVersions(root, folder, wait, { dryRun: options.dryRun })
  const repaired = [...recovered.restored, ...(versioned?.files ?? []), ...scripted]
  const plan = repaired.length === 0 ? given : await planAgain(repaired, options)
  refusePending(plan)
  refuseVersionTags(plan)
  matching('smoke.installOnly', options.installOnly ?? [], plan.workspace.packages)
  requireInstallable(plan)

  const repository = await Repository.open(root, wait)
  const registries = registriesOf(plan, options)
  const isDryRun = options.dryRun === true
  // A dry run is never resumed: it records nothing.
  // An empty release records nothing either: the last release is the last one that released something.
  const isKept = !isDryRun && registries.size > 0
  const address = isKept ? `sqlite:${folder.journal}` : 'memory'
  await using journal = await openJournal(address, { kernel })
  const title = titleOf(plan, options, registries, repository)
  const earlier = await readEarlier(journal, title)
  const { resume, sources, lost } = earlier
  const npm = await readNpmConfig({ folder: root, env: options.env ?? process.env })
  const signed = signedPackages(plan, options, npm)
  const file = path.join(folder.output, `${title}.json`)
  const isResumed = resume !== undefined
  const output = repository && (await BuildOutput.open(repository, file, { isResumed }))
  const since = kernel.clock.wallTime()
  const subject = {
    root,
    repository,
    registries: registries.values(),
    output,
    signed: signed.map((planned) => ({ planned, registry: registries.get(planned.package.name)! })),
  }
  const checked = await preflight(subject, options, wait)
  const namesOf = (names: Iterable<string>): string[] =>
    Array.from(names, (name) => `${name}@${plan.packages.get(name)!.version}`)
  const head = repository?.head ?? ''
  const begun = { [head]: namesOf(earlier.absent) }
  await using lease = isDryRun ? undefined : await holdLease(repository, folder, options, begun)
  if (!isDryRun) {
    const uploads = [
      ...leasedUploads(lease?.left ?? {}),
      ...(await untaggedUploads(journal, title)),
    ]
    const tags = await finishTags({ plan, repository, uploads }, options, wait)
    if (tags.length > 0 && plan.source === 'commits') return { tags }
  }
  const { users } = checked
  const vanished = await findVanished(earlier, registries, wait)
  const isClean = (await output?.unexplained(wait))?.length === 0
  const edits = isClean ? await Edits.watch(repository!, since, wait) : undefined
  const marks = await sourceMarks(repository, options)
  const packed = path.join(folder.packed, isDryRun ? 'dry-run' : title)
  const running = withSignal(options, lease?.lost)
  await using gitTags =
    repository === undefined || options.tag === false
      ? undefined
      : new TagQueue({
          repository,
          kernel,
          expected: registries.size,
          remote: options.push,
          signal: running.signal,
        })
  const tags = await knownTags(repository, options, wait)
  const release: Release = {
    plan,
    options: running,
    kernel,
    gitTags,
    distTags: new Map(),
    repository,
    origins: await VersionOrigins.read(repository, wait),
    tags,
    tagFolders: tagFolders(tags.keys()),
    folder: packed,
    scripts: folder.scripts,
    unsure: new Set([...earlier.unsure, ...vanished]),
    begun: new Set(sources.keys()),
    users,
    isSigned: (name) => signed.some((planned) => planned.package.name === name),
    gitHead: isClean ? repository?.head : undefined,
    edits,
    edited: new Set(),
    incomplete: new Map(),
    registryFor: (name) => registries.get(name)!,
    recordUploads: async (names) => {
      if (names.length > 0) await lease?.record({ [head]: namesOf(names) })
    },
    turnOf: (name) => (earlier.turns.get(name) ?? 0) + (vanished.has(name) ? 1 : 0),
    sourcesOf: (name) => (lost.has(name) ? marks.once : (sources.get(name) ?? marks.current)),
  }
  const started = kernel.clock.now()
  const isRecorded = isClean && !isDryRun
  if (isRecorded) await output?.begin()
  let run = await runStages(release, folder, journal, title, resume)
  // L6
  if (hasSetAside(run)) run = await runStages(release, folder, journal, title, run.id)
  if (isRecorded) await output?.end()
  const warnings = [
    ...checked.warnings,
    ...(lease?.warnings() ?? []),
    ...untaggedWarning(release, run.results),
  ]
  const report = await makeReport(release, { ...run, recovered, warnings })
  // Unfinished packages need their archives again.
  // Archives of abandoned releases are removed: such a release packs again.
  const done = isDryRun ? packed : report.ok ? folder.packed : undefined
  if (done !== undefined) await rm(done, { recursive: true, force: true })
  if (report.ok) await output?.remove()
  return { ...report, ms: Math.round(kernel.clock.now() - started) }
}

function leasedUploads(left: LeasedUploads): UntaggedUpload[] {
  return Object.entries(left).flatMap(([commit, versions]) =>
    versions.map((each) => {
      const at = each.lastIndexOf('@')
      return { name: each.slice(0, at), version: each.slice(at + 1), commit }
    }),
  )
}

/** Tags of this clone and of the remote to which tags are pushed: existing tags are kept. */
async function knownTags(
  repository: Repository | undefined,
  { push, tag = true }: ReleaseOptions,
  wait: WaitOptions,
): Promise<ReadonlyMap<string, string>> {
  if (repository === undefined) return new Map()
  const own = await repository.tags(wait)
  if (push === undefined || !tag) return own
  return new Map([...own, ...(await repository.remoteTags(push, wait))])
}

/** E5: a release without its lease ends as one that is cancelled. */
function withSignal(options: ReleaseOptions, lost: AbortSignal | undefined): ReleaseOptions {
  if (lost === undefined) return options
  const { signal } = options
  return { ...options, signal: signal === undefined ? lost : AbortSignal.any([signal, lost]) }
}

interface Stages {
  readonly id: string | undefined
  readonly ended: GraphResult
  /** What the stages returned, by node, also those of an earlier process. */
  readonly results: ReadonlyMap<string, unknown>
  /** Why a manifest that was pinned in place could not be restored. */
  readonly unrestored: unknown
  readonly times: StageTimes
}

async function runToItsEnd(
  graph: Graph,
  runOptions: RunOptions,
  { onStart }: ReleaseOptions,
): Promise<{ readonly id: string | undefined; readonly ended: GraphResult }> {
  const run = await startRun(graph, runOptions)
  onStart?.(run)
  return { id: run.id, ended: await run.result }
}

async function runStages(
  release: Release,
  folder: ReleaseFolder,
  journal: Journal,
  title: string,
  resume: string | undefined,
): Promise<Stages> {
  const { options, kernel } = release
  const pins = options.pin === 'in-place' ? await holdPins(release, folder.pins) : undefined
  const times = new StageTimes()
  const runOptions: RunOptions = {
    concurrency: Infinity,
    resources: resourcesOf(options),
    timeout: options.timeout ?? 600_000,
    kernel,
    title,
    journal,
    ...(options.signal !== undefined && { signal: options.signal }),
    // Changes are those of G4; what makes another release of it is in the title.
    ...(resume !== undefined && { resume, allowChanges: true }),
    observer: (event) => {
      pins?.observe(event)
      times.observe(event)
      options.observer?.(event)
    },
  }
  const graph = expand(release)
  options.onGraph?.(graph)
  const { id, ended } = await runToItsEnd(graph, runOptions, options).catch(
    async (error: unknown) => {
      await pins?.[Symbol.asyncDispose]()
      throw error
    },
  )
  // A failed restoration does not replace the report.
  const unrestored = await pins?.[Symbol.asyncDispose]().then(
    () => undefined,
    (error: unknown) => error,
  )
  const results = new Map<string, unknown>()
  for (const node of [...ended.succeeded, ...ended.reused]) results.set(node, ended.valueOf(node))
  return { id: options.dryRun === true ? undefined : id, ended, results, unrestored, times }
}

/** A run whose process ended three times while a stage ran leaves that stage out; resumed once more, it runs it. */
function hasSetAside({ id, ended }: Stages): boolean {
  return (
    id !== undefined &&
    [...ended.failed.values()].some((error) => isError(error, 'HDL_NODE_SET_ASIDE'))
  )
}

/**
 * Packages that the registry took, had the whole budget to show, and does not have: they are uploaded
 * again, from the same archive. A registry that shows them after all refuses the second upload.
 */
async function findVanished(
  { unseen }: Earlier,
  registries: ReadonlyMap<string, Registry>,
  wait: WaitOptions,
): Promise<Set<string>> {
  const vanished = new Set<string>()
  for (const [name, packed] of unseen) {
    const standing = await registries.get(name)?.compare(packed, wait)
    if (standing?.is === 'absent') vanished.add(name)
  }
  return vanished
}

/** npm packages that ask for provenance and were not given a bundle. */
function signedPackages(
  { packages }: ReleasePlan,
  { provenance }: ReleaseOptions,
  npm: NpmConfig,
): PlannedPackage[] {
  return [...packages.values()].filter(
    ({ status, package: { ecosystem, manifest, name } }) =>
      status === 'included' &&
      ecosystem === 'npm' &&
      provenance?.has(name) !== true &&
      wantsProvenance(manifest, npm),
  )
}

async function recoverPins(folder: ReleaseFolder): Promise<Recovery> {
  await mkdir(folder.pins, { recursive: true })
  return recover(folder.pins)
}

/** L5: what changesets say is released by a version that is in the repository. */
function refusePending({ source, packages, isSnapshot = false }: ReleasePlan): void {
  // S3: a snapshot uses no changeset up.
  if (source !== 'changesets' || isSnapshot) return
  const included = [...packages.values()].filter(({ status }) => status === 'included')
  if (included.length === 0) return
  const waiting = included.map((each) => `${each.package.name} ${versionChange(each)}`)
  throw new HeddleError('HDL_CHANGES_PENDING', { packages: waiting })
}

/** Refuses what npm refuses: installers take such a tag for a range of versions. */
function refuseVersionTags({ packages }: ReleasePlan): void {
  for (const planned of packages.values()) {
    if (planned.status !== 'included' || distTagProblem(planned) === undefined) continue
    const { distTag: value } = planned
    const expected = 'a name that is not a version or a range, without spaces, such as "next"'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'dist-tag', value, expected })
  }
}

async function planAgain(
  restored: readonly string[],
  { replan }: ReleaseOptions,
): Promise<ReleasePlan> {
  if (replan === undefined) throw new HeddleError('HDL_PLAN_STALE', { restored })
  return replan()
}

/** One registry for each package; those at one address are shared. */
function registriesOf(plan: ReleasePlan, options: ReleaseOptions): ReadonlyMap<string, Registry> {
  const registries = new Map<string, Registry>()
  for (const [name, planned] of plan.packages) {
    if (planned.status === 'included') registries.set(name, options.registryOf(planned))
  }
  return registries
}

/** L3: everything that makes it another release. */
function titleOf(
  plan: ReleasePlan,
  { staged = false, gate = 'visible', smoke = true, tag = true }: ReleaseOptions,
  registries: ReadonlyMap<string, Registry>,
  repository: Repository | undefined,
): string {
  const packages = Array.from(registries, ([name, { url }]) => {
    const { version, distTag, after } = plan.packages.get(name)!
    return [name, version, distTag, after, url]
  })
  const marks = { packages, head: repository?.head, staged, gate, smoke, tag }
  const digest = createHash('sha256').update(JSON.stringify(marks)).digest('hex')
  return `release ${digest.slice(0, 16)}`
}

/**
 * G4: the sources of packages. Only commits can be distinguished; anything else in
 * the folder may have changed since, so it is marked as different every time.
 */
async function sourceMarks(
  repository: Repository | undefined,
  { build = 'build', pin = 'memory', kernel = systemKernel, signal }: ReleaseOptions,
): Promise<{ readonly current: string; readonly once: string }> {
  const changes = await repository?.changes({ untracked: true, ...(signal && { signal }) })
  const { clock, random } = kernel
  const markOf = (files: unknown): string => JSON.stringify({ files, build, pin })
  const once = markOf([process.pid, clock.wallTime(), random.next()])
  return { once, current: changes?.length === 0 ? markOf('commit') : once }
}
