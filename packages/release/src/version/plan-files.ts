/** From a plan to the files that give the workspace its new versions. Reads files and changes none. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { editJson } from '../manifest/json-edit.ts'
import { decodeManifest } from '../manifest/manifest-text.ts'
import { editToml } from '../manifest/toml-edit.ts'
import type { PlannedPackage, ReleasePlan } from '../model.ts'
import { readConfig } from '../plan/changesets/config.ts'
import { readIntents } from '../plan/changesets/intents.ts'
import { inReleaseOrder } from '../plan/output/order.ts'
import { neededDependencies } from '../plan/release-order.ts'
import { Problems } from '../workspace/problems.ts'
import { changelogEntry, withEntry } from './changelog.ts'
import { lockFiles, type FolderChanges } from './lock-files.ts'
import { isVersioned, npmEdits, pythonEdits } from './manifest-edits.ts'
import { hashOf, type FileChange } from './write-files.ts'

export interface VersionFilesOptions {
  readonly changelog?: boolean
}

/**
 * Manifests with new versions and ranges, lock files that repeat them, changelogs, and the changesets
 * that are used up.
 *
 * *Cancellation*: none; it reads files of this machine.
 */
export async function versionFiles(
  plan: ReleasePlan,
  { changelog = true }: VersionFilesOptions = {},
): Promise<FileChange[]> {
  const { root } = plan.workspace
  const changes = new FileChanges(root)
  const folders: FolderChanges[] = []
  for (const planned of inReleaseOrder(plan)) {
    const { manifestFile, ecosystem, folder, name } = planned.package
    const edits = ecosystem === 'npm' ? npmEdits(planned, plan) : pythonEdits(planned)
    if (edits.length === 0) continue
    const edit = ecosystem === 'npm' ? editJson : editToml
    await changes.edit(manifestFile, (text) => edit(manifestFile, text!, edits))
    folders.push({ folder: relative(root, folder), name, changes: edits })
  }
  for (const { file, edit } of lockFiles) {
    const full = path.join(root, file)
    await changes.edit(full, (text) => (text === undefined ? undefined : edit(text, folders)))
  }
  const writesLogs = changelog && (await hasChangelogs(plan))
  for (const planned of writesLogs ? inReleaseOrder(plan) : []) {
    if (!isVersioned(planned)) continue
    const file = path.join(planned.package.folder, 'CHANGELOG.md')
    const entry = changelogEntry(planned, updatedDependencies(planned, plan))
    await changes.edit(file, (text) => withEntry(planned.package.name, text, entry))
  }
  if (plan.source === 'changesets') await useChangesets(plan, changes)
  return changes.all
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

async function hasChangelogs({ source, workspace }: ReleasePlan): Promise<boolean> {
  if (source !== 'changesets') return true
  return (await readConfig(workspace, new Problems(workspace.root))).changelog
}

/** `name@version` of what it needs and what is released with it. */
function updatedDependencies({ package: each }: PlannedPackage, plan: ReleasePlan): string[] {
  const names = new Set(neededDependencies(each).map(({ name }) => name))
  return [...names].flatMap((name) => {
    const target = plan.packages.get(name)
    return target !== undefined && isVersioned(target) ? [`${name}@${target.version}`] : []
  })
}

/**
 * Changesets are removed when versions have been made of them. Those of a prerelease wait for the
 * release it leads to: in a folder (Changesets 3) or in a list (Changesets 2).
 */
async function useChangesets({ workspace }: ReleasePlan, changes: FileChanges): Promise<void> {
  const problems = new Problems(workspace.root)
  const { usedIn } = await readConfig(workspace, problems)
  const { intents, pre } = await readIntents(workspace, problems)
  const folder = path.join(workspace.root, '.changeset')
  const preFile = path.join(folder, 'pre.json')
  if (pre?.mode !== 'pre') {
    for (const { file } of intents) await changes.edit(file, () => null)
    await changes.edit(preFile, (text) => (text === undefined ? undefined : null))
    return
  }
  const fresh = intents.filter(({ isUsed }) => !isUsed)
  if (usedIn === 'list') {
    const ids = intents.map(({ id }) => id)
    await changes.edit(preFile, (text) => {
      const fields = JSON.parse(text!) as object
      return `${JSON.stringify({ ...fields, changesets: ids }, undefined, 2)}\n`
    })
    return
  }
  for (const { file } of fresh) {
    let moved: string | undefined
    await changes.edit(file, (text) => {
      moved = text
      return null
    })
    await changes.edit(path.join(folder, 'pre', path.basename(file)), () => moved)
  }
}
