/**
 * A thin planner for conventional commits.
 *
 *   tags ──▶ last release of each package ──▶ commits since ──▶ what counts ──▶ bump ──▶ dependents
 *
 *  P1  All commits count, also those of merged branches, with their whole message.
 *  P2  They are counted from the last release that the current commit contains.
 *  P3  A commit counts for the packages whose files it changes.
 *  P4  A package that needs a released one, directly or not, is released too, as a patch at least.
 *  P5  In a shallow clone a plan is made only if the missing commits cannot change it.
 *
 *  P6  A version that a commit has made (the trailer of `heddle release version`) is made once: later
 *      plans count from that commit, and a plan to publish releases it as it is.
 *
 *  P7  A version to be committed is not one that another branch has tagged: the change is applied again
 *      until the version is free.
 *
 * It writes nothing: `heddle release version` does.
 */
import { HeddleError } from '@heddle/core'
import { systemKernel, type Kernel } from '@heddle/core/lowlevel'
import type { PlannedChange, ReleasePlan, Workspace, WorkspacePackage } from '../model.ts'
import { versionTrailer } from '../version/trailer.ts'
import { compareText } from '../workspace/workspace-problems.ts'
import { assemblePlan, type Decision, type PlanOptions } from './assemble.ts'
import { bumpOf } from './commits/conventional.ts'
import { CommitLog, type Tag } from '../git/commit-log.ts'
import { History, historyEntry, type EffectiveChange } from './commits/history.ts'
import { fileOwners } from './commits/owners.ts'
import { ReleaseTags, type LastRelease } from './commits/releases-of.ts'
import { neededDependencies } from './release-order.ts'
import { matching } from './selection.ts'
import {
  biggerBump,
  compareVersions,
  firstVersion,
  isInitialDevelopment,
  nextVersion,
  prereleaseName,
  type Bump,
} from './versions.ts'

export interface CommitPlanOptions extends PlanOptions {
  /** Make prereleases of this name: `rc` gives `1.3.0-rc.0`, then `1.3.0-rc.1`. */
  readonly prerelease?: string
  /** Let a breaking change of 0.x make 1.0.0. Otherwise it makes the next 0.x. */
  readonly majorOnZero?: boolean
  /** `synchronised`: all packages get the same version. Default `independent`. */
  readonly mode?: 'independent' | 'synchronised'
  /** Where to count from for packages that were never tagged. */
  readonly since?: string
  /** How Git tags of this repository are called, beside the formats that are always recognised. */
  readonly tagFormat?: string
  /**
   * The purpose of the plan. `publish` (default): a version that `heddle release version` has committed and
   * that has no tag yet is released unchanged. `version`: such a version is made already.
   */
  readonly purpose?: 'publish' | 'version'
  readonly kernel?: Kernel
}

interface Draft {
  readonly package: WorkspacePackage
  readonly last: LastRelease
  bump: Bump
  reason: string
  changes: PlannedChange[]
}

/**
 * Plans the versions from the history of the repository.
 *
 * Last releases are the tags `name@version`, `name@v1.2.3`, `name-v1.2.3` and those of `tagFormat`; also `v1.2.3` for a
 * package alone, in `synchronised` mode, and for a package that has exactly this version and no tag of
 * its own.
 *
 * *Cancellation*: commands that run are ended, nothing is left behind.
 * *Fairness*: Git is asked a few questions at a time, in the order of names.
 *
 * @throws `HDL_HISTORY_CUT` in a shallow clone that is too short; `HDL_COMMAND_FAILED` without a
 * repository; `HDL_PACKAGE_CYCLE`, `HDL_PLAN_INVALID`, `HDL_BAD_OPTION`
 */
export async function planFromCommits(
  workspace: Workspace,
  options: CommitPlanOptions = {},
): Promise<ReleasePlan> {
  const { signal } = options
  checkOptions(options)
  const git = new CommitLog(workspace.root, { signal })
  const tags = await git.tags()
  const half =
    options.purpose === 'version' ? undefined : await halfReleased(git, tags, workspace, options)
  const { decisions, warnings } = half ?? (await decide(git, tags, workspace, options))
  return assemblePlan(workspace, 'commits', decisions, options, warnings)
}

interface Decided {
  readonly decisions: Map<string, Decision>
  readonly warnings: readonly string[]
}

/**
 * The packages that were to be released from this commit, when only a part of them has tags: a package that is
 * released because of another one has no changes of its own, and would be lost once that one is tagged.
 */
async function halfReleased(
  git: CommitLog,
  tags: readonly Tag[],
  workspace: Workspace,
  options: CommitPlanOptions,
): Promise<Decided | undefined> {
  if (options.mode === 'synchronised' || workspace.tool === 'single') return undefined
  if (tags.length === 0) return undefined
  const head = await git.resolve('HEAD')
  const here = releasedNames(
    workspace,
    new ReleaseTags(
      tags.filter(({ commit }) => commit === head),
      options.tagFormat,
    ),
  )
  if (here.size === 0) return undefined
  const before = tags.filter(({ commit }) => commit !== head)
  const decided = await decide(git, before, workspace, options)
  const { onRegistry: _asked, ...offline } = options
  const { packages } = await assemblePlan(workspace, 'commits', decided.decisions, offline)
  const released = [...packages].filter(([, { status }]) => status === 'included')
  const done = released.filter(([name, { version }]) => here.has(`${name}@${version}`))
  const isHalf = done.length === here.size && done.length < released.length
  return isHalf ? decided : undefined
}

/** `name@version` of packages that have a tag, whatever its form. */
function releasedNames({ packages }: Workspace, tags: ReleaseTags): Set<string> {
  const names = [...packages.values()].flatMap((each) =>
    tags.releasesOf(each).map(({ version }) => `${each.name}@${version}`),
  )
  return new Set(names)
}

async function decide(
  git: CommitLog,
  found: readonly Tag[],
  workspace: Workspace,
  options: CommitPlanOptions,
): Promise<Decided> {
  const { prerelease, mode = 'independent', since } = options
  const isShared = mode === 'synchronised' || workspace.tool === 'single'
  const made = await git.versionCommits(versionTrailer)
  const tagged = new ReleaseTags(found, options.tagFormat)
  const isTagged = releasedNames(workspace, tagged)
  const shared = new Set(isShared ? tagged.sharedReleases().map(({ version }) => version) : [])
  const pending = made.filter(({ name }) => !isTagged.has(name) && !shared.has(versionIn(name)))
  const tags = new ReleaseTags([...found, ...pending], options.tagFormat)
  const start = since === undefined ? undefined : await git.resolve(since)
  const drafts = new Map<string, Draft>()
  for (const each of workspace.packages.values()) {
    if (each.isPrivate) continue
    const last = tags.lastOf(each, isShared, prerelease !== undefined)
    drafts.set(each.name, { package: each, last, bump: 'none', reason: 'no changes', changes: [] })
  }
  const changes = await changesSince(git, workspace, [...drafts.values()], start, options)
  for (const draft of drafts.values())
    count(draft, changes.get(draft.package.name) ?? [], start, options)
  const groups = groupsOf(workspace, drafts, options)
  settle(workspace, drafts, groups)

  const all = [...drafts.values()]
  const skipped: string[] = []
  const others =
    options.purpose === 'version'
      ? new ReleaseTags(await git.otherTags(), options.tagFormat)
      : undefined
  const decisions = new Map<string, Decision>()
  for (const draft of all) {
    const { package: each, last, bump, reason } = draft
    const group = groups.find((members) => members.includes(draft)) ?? [draft]
    const current = highest(group).get(each.ecosystem) ?? last.current
    const isNew = start === undefined && group.every(isAsWritten)
    const isMade = bump === 'none' && isPending(each, pending)
    if (isMade && options.purpose !== 'version') {
      decisions.set(each.name, {
        version: each.version,
        isReleased: true,
        reason: 'its version was committed',
        distTag: prerelease,
      })
      continue
    }
    const wanted = isNew
      ? firstVersion(each.ecosystem, current, prerelease)
      : nextVersion(each.ecosystem, current, bump, prerelease)
    const taken = takenVersions(group, others, isShared)
    let version = wanted
    // P7
    while (!isNew && bump !== 'none' && taken.has(version)) {
      version = nextVersion(each.ecosystem, version, bump, prerelease)
    }
    if (version !== wanted) {
      skipped.push(`${each.name} gets ${version}: another branch has the tag of ${wanted}.`)
    }
    decisions.set(each.name, {
      version,
      isReleased: bump !== 'none',
      reason,
      distTag: prerelease,
      changes: draft.changes,
    })
  }
  return { decisions, warnings: [...all.flatMap(missingTag), ...skipped] }
}

/** P7: versions that tags of other branches have, of any package that gets the same version. */
function takenVersions(
  group: readonly Draft[],
  others: ReleaseTags | undefined,
  isShared: boolean,
): ReadonlySet<string> {
  if (others === undefined) return new Set()
  const own = group.flatMap((draft) => others.releasesOf(draft.package))
  const shared = isShared ? others.sharedReleases() : []
  return new Set([...own, ...shared].map(({ version }) => version))
}

/** The version in `name@1.2.3`. */
function versionIn(name: string): string {
  return name.slice(name.lastIndexOf('@') + 1)
}

/** P6: the version of the manifest was made by a commit and has no tag yet. */
function isPending({ name, version }: WorkspacePackage, pending: readonly Tag[]): boolean {
  return pending.some((each) => each.name === `${name}@${version}`)
}

/** The version was raised without a tag: its content is not known. */
function missingTag({ package: { name, ecosystem, version }, last: { base } }: Draft): string[] {
  if (base === undefined || compareVersions(ecosystem, version, base.version) <= 0) return []
  if (prereleaseName(ecosystem, version) !== undefined) return []
  return [
    `${name} is at ${version}, which was not tagged; its changes are counted from ${base.tag.name}.`,
  ]
}

function checkOptions({ prerelease, mode = 'independent' }: CommitPlanOptions): void {
  if (prerelease !== undefined && !/^[a-z][a-z-]*$/i.test(prerelease)) {
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'prerelease',
      value: prerelease,
      expected: 'a name of letters, such as "rc"',
    })
  }
  if (mode !== 'independent' && mode !== 'synchronised') {
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'mode',
      value: mode,
      expected: '"independent" or "synchronised"',
    })
  }
}

/** Packages that were released together share one range. */
async function changesSince(
  git: CommitLog,
  workspace: Workspace,
  drafts: readonly Draft[],
  start: string | undefined,
  { kernel = systemKernel }: CommitPlanOptions,
): Promise<Map<string, EffectiveChange[]>> {
  const cut = await git.cutAt()
  const isUncounted = (draft: Draft): boolean => start === undefined && isAsWritten(draft)
  const byBase = new Map<string | undefined, string[]>()
  for (const { package: each, last } of drafts.filter((draft) => !isUncounted(draft))) {
    const base = last.base?.tag.commit ?? (last.isFirst ? start : undefined)
    const list = byBase.get(base)
    if (list === undefined) byBase.set(base, [each.name])
    else list.push(each.name)
  }
  const history = await readHistory(git, workspace, [...byBase.keys()])
  // A package without a tag may have one in the part that is missing.
  const unknown =
    cut.size === 0 ? [] : drafts.filter(isUncounted).map((draft) => draft.package.name)
  const found = new Map<string, EffectiveChange[]>()
  for (const [base, names] of byBase) {
    const range = history.since(base)
    if (history.reaches(range, cut)) unknown.push(...names)
    for (const [name, changes] of history.changes(range, names)) found.set(name, changes)
    // There may be as many ranges as packages, and each takes up to a millisecond.
    await new Promise<void>((done) => kernel.clock.afterIo(done))
  }
  // P5: a range that continues where the clone was cut has an unknown part.
  if (unknown.length > 0) {
    throw new HeddleError('HDL_HISTORY_CUT', { packages: unknown.toSorted(compareText) })
  }
  return found
}

/** The commits of all ranges. Commits contained in all releases are in none of them. */
async function readHistory(
  git: CommitLog,
  workspace: Workspace,
  bases: readonly (string | undefined)[],
): Promise<History> {
  if (bases.length === 0) return new History([])
  const known = bases.filter((base) => base !== undefined)
  const common = known.length === bases.length ? await git.commonAncestors(known) : []
  const owners = fileOwners(workspace)
  const hashes = await git.hashes(common)
  return new History(await git.commits(hashes, (commit) => historyEntry(commit, owners)))
}

function count(
  draft: Draft,
  changes: readonly EffectiveChange[],
  start: string | undefined,
  options: CommitPlanOptions,
): void {
  const { last } = draft
  let titles = 0
  for (const { change, title } of changes) {
    const bump = bumpOf(change, isInitialDevelopment(last.current), options.majorOnZero ?? false)
    titles++
    if (bump !== 'none') draft.changes.push({ bump, text: title })
    if (biggerBump(draft.bump, bump) === draft.bump) continue
    draft.bump = bump
    draft.reason = title
  }
  if (titles > 1) draft.reason += ` (and ${titles - 1} more)`
  if (!last.isFirst || start !== undefined) return
  draft.bump = biggerBump(draft.bump, 'patch')
  draft.reason = `first release: no tag ${draft.package.name}@… in the history`
}

/** Packages that get the same version: all of them, or those of a configured group. */
function groupsOf(
  { packages }: Workspace,
  drafts: ReadonlyMap<string, Draft>,
  { mode, groups = [] }: CommitPlanOptions,
): Draft[][] {
  if (mode === 'synchronised') return [[...drafts.values()]]
  return groups.map((patterns) =>
    [...matching('groups', patterns, packages)].flatMap((name) => drafts.get(name) ?? []),
  )
}

/** P4, and one change for each group. Changes only grow, so it ends. */
function settle(
  workspace: Workspace,
  drafts: ReadonlyMap<string, Draft>,
  groups: readonly (readonly Draft[])[],
): void {
  for (let hasGrown = true; hasGrown;) {
    spread(workspace, drafts)
    hasGrown = groups.map(level).includes(true)
  }
}

/** P4 */
function spread(workspace: Workspace, drafts: ReadonlyMap<string, Draft>): void {
  const dependents = new Map<string, string[]>()
  for (const each of workspace.packages.values()) {
    for (const { name } of neededDependencies(each)) {
      const list = dependents.get(name)
      if (list === undefined) dependents.set(name, [each.name])
      else list.push(each.name)
    }
  }
  const open = [...drafts.values()]
    .filter(({ bump }) => bump !== 'none')
    .map(({ package: { name } }) => name)
  // A list also yields items that are added during the walk.
  for (const name of open) {
    for (const dependent of dependents.get(name) ?? []) {
      const draft = drafts.get(dependent)
      if (draft === undefined || draft.bump !== 'none') continue
      draft.bump = 'patch'
      draft.reason = `depends on ${name}`
      open.push(dependent)
    }
  }
}

/** All get the biggest change of any. Returns whether that has changed one of them. */
function level(all: readonly Draft[]): boolean {
  let hasGrown = false
  const bump = all.reduce<Bump>((biggest, draft) => biggerBump(biggest, draft.bump), 'none')
  const cause = all.find((draft) => draft.bump === bump)
  for (const draft of all) {
    if (draft.bump === 'none' && bump !== 'none')
      draft.reason = `together with ${cause!.package.name}`
    hasGrown ||= draft.bump !== bump
    draft.bump = bump
  }
  return hasGrown
}

/** The highest version of each ecosystem: all packages continue from there. */
function highest(drafts: readonly Draft[]): Map<string, string> {
  const found = new Map<string, string>()
  for (const {
    package: { ecosystem },
    last: { current },
  } of drafts) {
    const known = found.get(ecosystem)
    if (known === undefined || compareVersions(ecosystem, current, known) > 0)
      found.set(ecosystem, current)
  }
  return found
}

/**
 * A version written into a new manifest is the one to start with;
 * 0.0.0 is what tools write by default.
 */
function isAsWritten({ package: { ecosystem, version }, last }: Draft): boolean {
  return last.isFirst && compareVersions(ecosystem, version, '0.0.0') !== 0
}
