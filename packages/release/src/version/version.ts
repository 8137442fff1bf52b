/** `heddle release version`: from changesets or commits to versions in the repository. */
import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { holdLock, type WaitOptions } from '@heddle/core/lowlevel'
import { Repository } from '../git/repository.ts'
import { tagFormatOf, tagName } from '../git/tag-format.ts'
import { makeReleaseFolder } from '../lock/release-folder.ts'
import type { ReleasePlan } from '../model.ts'
import { finishScripts } from '../pack/unfinished-scripts.ts'
import { refuseUnfinished } from '../lock/unfinished.ts'
import { inReleaseOrder } from '../plan/output/plan-levels.ts'
import { dirtyTree } from '../preflight/work-tree.ts'
import { isVersioned } from './manifest-edits.ts'
import { versionFiles, type KeptChangeset } from './plan-files.ts'
import { versionTrailer } from './trailer.ts'
import { finishVersions, writeVersions } from './write-files.ts'

export interface VersionOptions extends WaitOptions {
  /** Makes the plan. Called when nothing of an earlier call is left to finish. */
  readonly plan: () => Promise<ReleasePlan>
  /** Commits the changes. Default true, where there is a repository. */
  readonly commit?: boolean
  /** The first line of the commit. Default `Release a@1.1.0, b@2.0.0`. */
  readonly message?: string
  readonly changelog?: boolean
  /** How Git tags of this repository are called. */
  readonly tagFormat?: string
  /** Returns what would be written, and writes nothing. */
  readonly dryRun?: boolean
}

export interface VersionedPackage {
  readonly name: string
  readonly from: string
  readonly version: string
}

export interface VersionReport {
  readonly ok: true
  readonly packages: readonly VersionedPackage[]
  readonly files: readonly string[]
  readonly commit: string | undefined
  /** Changesets of packages that got no version: they stay in the repository. */
  readonly kept: readonly KeptChangeset[]
  /** Warnings for the person who releases, as sentences. */
  readonly warnings: readonly string[]
  /** Whether this call only finished one that was cut short. */
  readonly isFinished: boolean
}

/**
 * Writes versions, ranges, lock files and changelogs, removes the changesets that are used up, and
 * commits all of it. Killed at any moment, the same call finishes it and makes nothing twice.
 *
 * *Cancellation*: the next call finishes it.
 * @throws `HDL_TREE_DIRTY` when there are other changes; `HDL_VERSION_TAGGED`; `HDL_LOCKED`; `HDL_VERSION_EDITED`.
 */
export async function versionRelease(
  root: string,
  options: VersionOptions,
): Promise<VersionReport> {
  const { commit = true, dryRun = false, changelog = true } = options
  const wait: WaitOptions = options.signal === undefined ? {} : { signal: options.signal }
  const folder = await makeReleaseFolder(root, options.signal)
  await using _lock = await holdLock(folder.lock, { command: 'heddle release version' })
  if (dryRun) await refuseUnfinished(folder)
  else await finishScripts(folder.scripts, wait)
  const finished = await finishVersions(root, folder, wait, {
    dryRun,
    message: options.message,
  })
  if (finished !== undefined && finished.root === (await realpath(root))) {
    const { files, commit: made } = finished
    return { ok: true, packages: [], files, commit: made, kept: [], warnings: [], isFinished: true }
  }
  const elsewhere =
    finished === undefined
      ? []
      : [`Finished the versions that an interrupted call had begun to write in ${finished.root}.`]
  const repository = await Repository.open(root, wait)
  // The commit consumes changesets: the newly written ones need not be committed first.
  const isChangeset = (full: string): boolean =>
    full.endsWith('.md') && path.dirname(full) === path.join(root, '.changeset')
  const changed = commit && !dryRun ? await dirtyTree(repository, isChangeset, wait) : undefined
  if (changed !== undefined) throw new HeddleError('HDL_TREE_DIRTY', { files: changed })
  const plan = await options.plan()
  const packages = inReleaseOrder(plan)
    .filter(isVersioned)
    .map(({ package: { name, version: from }, version }) => ({ name, from, version }))
  await refuseTagged(plan, repository, options.tagFormat, wait)
  const { files, kept, warnings: found } = await versionFiles(plan, { changelog })
  const warnings = [...elsewhere, ...(plan.warnings ?? []), ...(packages.length === 0 ? [] : found)]
  const names = files.map(({ file }) => file)
  if (packages.length === 0) {
    return { ok: true, packages, files: [], commit: undefined, kept, warnings, isFinished: false }
  }
  if (dryRun)
    return {
      ok: true,
      packages,
      files: names,
      commit: undefined,
      kept,
      warnings,
      isFinished: false,
    }
  const { root: _root, ...written } = await writeVersions(
    plan.workspace.root,
    folder,
    {
      base: repository?.head ?? null,
      message: commit ? messageOf(packages, options.message) : null,
      files,
    },
    wait,
  )
  return { ok: true, packages, ...written, kept, warnings, isFinished: false }
}

/** A version whose tag exists was released from another commit: new changes would be lost. */
async function refuseTagged(
  plan: ReleasePlan,
  repository: Repository | undefined,
  format: string | undefined,
  wait: WaitOptions,
): Promise<void> {
  const tags = await repository?.tags(wait)
  for (const planned of plan.packages.values()) {
    if (planned.status !== 'included' || !isVersioned(planned)) continue
    const { version, package: of } = planned
    const tag = tagName(of.name, version, tagFormatOf(plan.workspace.tool, format))
    const commit = tags?.get(tag)
    if (commit === undefined) continue
    throw new HeddleError('HDL_VERSION_TAGGED', { package: of.name, version, tag, commit })
  }
}

function messageOf(packages: readonly VersionedPackage[], first: string | undefined): string {
  const all = packages.map(({ name, version }) => `${name}@${version}`)
  const short = all.length <= 3 ? all.join(', ') : `${all.length} packages`
  return `${first ?? `Release ${short}`}\n\n${versionTrailer}: ${all.join(' ')}\n`
}
