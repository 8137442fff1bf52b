/** From a plan to the files that give the workspace its new versions. Reads files and changes none. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { editJson } from '../manifest/json-edit.ts'
import { decodeManifest } from '../manifest/manifest-text.ts'
import { editToml } from '../manifest/toml-edit.ts'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import { readConfig, type ChangesetsConfig } from '../plan/changesets/changesets-config.ts'
import { readIntents, type Intent } from '../plan/changesets/intents.ts'
import { inReleaseOrder } from '../plan/output/plan-levels.ts'
import { neededDependencies } from '../plan/release-order.ts'
import { Problems } from '../workspace/workspace-problems.ts'
import { changelogEntry, withEntry, type AddedIn, type UpdatedDependencies } from './changelog.ts'
import { changesetCommits } from './changeset-commits.ts'
import { lockFiles, type FolderChanges } from './lock-files.ts'
import {
  followedNames,
  isVersioned,
  npmEdits,
  pythonEdits,
  type RangeProblem,
} from './manifest-edits.ts'
import { hashOf, type FileChange } from './write-files.ts'

export interface VersionFilesOptions {
  readonly changelog?: boolean
}

export interface VersionFiles {
  readonly files: readonly FileChange[]
  readonly kept: readonly KeptChangeset[]
  /** Whole sentences. */
  readonly warnings: readonly string[]
}

/** A changeset of packages that get no version now. It stays, so that its text is not lost. */
export interface KeptChangeset {
  /** From the root of the workspace. */
  readonly file: string
  readonly packages: readonly string[]
}

/**
 * Manifests with new versions and ranges, lock files that repeat them, changelogs, and the changesets
 * that are used up.
 *
 * *Cancellation*: none; it reads files of this machine.
 * @throws `HDL_PLAN_INVALID` for ranges that exclude a new version and cannot follow it.
 */
export async function versionFiles(
  plan: ReleasePlan,
  { changelog = true }: VersionFilesOptions = {},
): Promise<VersionFiles> {
  const { root } = plan.workspace
  const changes = new FileChanges(root)
  const folders: FolderChanges[] = []
  const problems: RangeProblem[] = []
  const config =
    plan.source === 'changesets' ? await readConfig(plan.workspace, new Problems(root)) : undefined
  for (const planned of inReleaseOrder(plan)) {
    const { manifestFile, ecosystem, folder, name } = planned.package
    const editsOf = ecosystem === 'npm' ? npmEdits : pythonEdits
    const edits = editsOf(planned, plan, problems, config)
    if (edits.length === 0) continue
    const edit = ecosystem === 'npm' ? editJson : editToml
    await changes.edit(manifestFile, (text) => edit(manifestFile, text!, edits))
    folders.push({ folder: relative(root, folder), name, changes: edits })
  }
  if (problems.length > 0) throw new HeddleError('HDL_PLAN_INVALID', { problems })
  for (const { file, edit } of lockFiles) {
    const full = path.join(root, file)
    await changes.edit(full, (text) => (text === undefined ? undefined : edit(text, folders)))
  }
  const logs = changelog ? await changelogsOf(plan, config) : undefined
  for (const planned of logs === undefined ? [] : inReleaseOrder(plan)) {
    if (!isVersioned(planned)) continue
    const file = path.join(planned.package.folder, 'CHANGELOG.md')
    const entry = changelogEntry(planned, updatedDependencies(planned, plan, config), logs!.addedIn)
    await changes.edit(file, (text) => withEntry(planned.package.name, text, entry))
  }
  const kept = config === undefined ? [] : await useChangesets(plan, config, changes)
  return { files: changes.all, kept, warnings: logs?.warnings ?? [] }
}

/** Files that change, each read once. */
class FileChanges {
  readonly all: FileChange[] = []
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  /** `undefined` in stands for no file, out for no change; null removes it. */
  async edit(
    full: string,
    change: (text: string | undefined) => string | null | undefined,
  ): Promise<void> {
    const bytes = await readFile(full).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    const text = bytes === undefined ? undefined : decodeManifest(full, bytes)
    const after = change(text)
    if (after === undefined || after === text) return
    const before = bytes === undefined ? null : hashOf(bytes)
    this.all.push({ file: relative(this.#root, full), before, after })
  }
}

function relative(root: string, full: string): string {
  return path.relative(root, full).split(path.sep).join('/')
}

interface Changelogs {
  readonly addedIn: AddedIn
  readonly warnings: readonly string[]
}

/** Undefined where packages get no changelogs. */
async function changelogsOf(
  { workspace: { root } }: ReleasePlan,
  config: ChangesetsConfig | undefined,
): Promise<Changelogs | undefined> {
  if (config === undefined) return { addedIn: new Map(), warnings: [] }
  const { changelog, changelogFormat } = config
  if (!changelog) return undefined
  const warnings =
    changelogFormat === undefined
      ? []
      : [
          `\`changelog\` of .changeset/config.json is ${changelogFormat}, which is not run: changelogs are written as @changesets/changelog-git writes them.`,
        ]
  return { addedIn: await changesetCommits(root), warnings }
}

/** The released dependencies of a package. */
function updatedDependencies(
  planned: PlannedPackage,
  plan: ReleasePlan,
  config: ChangesetsConfig | undefined,
): UpdatedDependencies {
  const { package: each } = planned
  const names = new Set(neededDependencies(each).map(({ name }) => name))
  const followed = each.ecosystem === 'npm' ? followedNames(planned, plan, config) : undefined
  const targets = [...names].flatMap((name) => {
    const target = plan.packages.get(name)
    const isNamed = target !== undefined && isVersioned(target) && followed?.has(name) !== false
    return isNamed ? [target] : []
  })
  return {
    versions: targets.map(({ package: { name }, version }) => `${name}@${version}`),
    changes: targets.flatMap(({ changes = [] }) => changes),
  }
}

/**
 * Changesets are removed when versions have been made of them. Those of a prerelease wait for the
 * release it leads to: in a folder (Changesets 3) or in a list (Changesets 2). Those of packages that
 * get no version stay as they are.
 *
 * @throws `HDL_WORKSPACE_INVALID` for a changeset that names packages of both kinds.
 */
async function useChangesets(
  plan: ReleasePlan,
  { usedIn }: ChangesetsConfig,
  changes: FileChanges,
): Promise<KeptChangeset[]> {
  const { root } = plan.workspace
  const problems = new Problems(root)
  const { intents, pre } = await readIntents(plan.workspace, problems)
  const kept = new Map(
    intents.flatMap((intent): [Intent, string[]][] => {
      const names = unversioned(intent, plan, problems)
      return names.length === 0 ? [] : [[intent, names]]
    }),
  )
  problems.throwIfAny()
  const used = intents.filter((intent) => !kept.has(intent))
  const folder = path.join(root, '.changeset')
  const preFile = path.join(folder, 'pre.json')
  if (pre?.mode !== 'pre') {
    for (const { file } of used) await changes.edit(file, () => null)
    await changes.edit(preFile, (text) => (text === undefined ? undefined : null))
  } else if (usedIn === 'list') {
    const ids = used.map(({ id }) => id)
    await changes.edit(preFile, (text) => {
      const fields = JSON.parse(text!) as object
      return `${JSON.stringify({ ...fields, changesets: ids }, undefined, 2)}\n`
    })
  } else {
    for (const { file, isUsed } of used) if (!isUsed) await moveToPre(file, folder, changes)
  }
  return Array.from(kept, ([{ file }, packages]) => ({ file: relative(root, file), packages }))
}

async function moveToPre(file: string, folder: string, changes: FileChanges): Promise<void> {
  let moved: string | undefined
  await changes.edit(file, (text) => {
    moved = text
    return null
  })
  await changes.edit(path.join(folder, 'pre', path.basename(file)), () => moved)
}

/** The packages of a changeset that get no version now. A changeset is used up as a whole. */
function unversioned(
  { file, bumps, isUsed }: Intent,
  { packages }: ReleasePlan,
  problems: Problems,
): string[] {
  // Changes of an earlier prerelease are listed already.
  if (isUsed) return []
  const changed = [...bumps].filter(([, bump]) => bump !== 'none').map(([name]) => name)
  const left = changed.filter((name) => !isVersioned(packages.get(name)!))
  if (left.length > 0 && left.length < changed.length) {
    problems.add({
      file,
      problem: `it names ${left.map((name) => `"${name}"`).join(', ')}, which gets no version now, beside packages that do`,
      todo: 'Split it into two files.',
    })
  }
  return left
}
