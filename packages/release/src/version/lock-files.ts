/**
 * Lock files repeat versions and ranges of the workspace's own packages. They are changed in place, with
 * every other byte kept, so that no package manager has to run and nothing else is resolved again.
 */
import { parseTree, findNodeAtLocation } from 'jsonc-parser'
import { isScalar, parseDocument } from 'yaml'
import { replaceIn, type Replacement, type ValueChange } from '../manifest/text-edit.ts'
import { isWorkspaceRange } from '../manifest/workspace-range.ts'

/** What changes in the manifest of one folder; `''` is the root. */
export interface FolderChanges {
  /** From the root of the workspace, with `/`. */
  readonly folder: string
  readonly name: string
  readonly changes: readonly ValueChange[]
}

export interface LockFile {
  readonly file: string
  /** The changed text; the same text when the file repeats nothing of the changes. */
  readonly edit: (text: string, folders: readonly FolderChanges[]) => string
}

export const lockFiles: readonly LockFile[] = [
  { file: 'package-lock.json', edit: (text, folders) => editJsonLock(text, 'packages', folders) },
  { file: 'npm-shrinkwrap.json', edit: (text, folders) => editJsonLock(text, 'packages', folders) },
  { file: 'bun.lock', edit: (text, folders) => editJsonLock(text, 'workspaces', folders) },
  { file: 'pnpm-lock.yaml', edit: editPnpmLock },
  { file: 'yarn.lock', edit: editYarnLock },
  { file: 'uv.lock', edit: editUvLock },
]

function editJsonLock(text: string, key: string, folders: readonly FolderChanges[]): string {
  const tree = parseTree(text)
  if (tree === undefined) return text
  const replacements: Replacement[] = []
  for (const { folder, changes } of folders) {
    for (const { path, value } of changes) {
      const places = [
        [key, folder, ...path],
        ...(folder === '' && path[0] === 'version' ? [path] : []),
      ]
      for (const place of places) {
        const node = findNodeAtLocation(tree, [...place])
        if (node?.type !== 'string') continue
        replacements.push({
          start: node.offset,
          end: node.offset + node.length,
          text: JSON.stringify(value),
        })
      }
    }
  }
  return replaceIn(text, replacements)
}

/** pnpm keeps the ranges of each package, and no versions of the workspace. */
function editPnpmLock(text: string, folders: readonly FolderChanges[]): string {
  const document = parseDocument(text)
  const replacements: Replacement[] = []
  for (const { folder, changes } of folders) {
    for (const { path, value } of changes) {
      if (path[0] === 'version') continue
      const place = ['importers', folder === '' ? '.' : folder, ...path, 'specifier']
      const node = document.getIn(place, true)
      if (!isScalar(node) || node.range === undefined || node.range === null) continue
      const [start, end] = node.range
      const isQuoted = /^['"]/.test(text.slice(start, end))
      replacements.push({ start, end, text: isQuoted ? `'${value}'` : value })
    }
  }
  return replaceIn(text, replacements)
}

/**
 * Yarn lists, for each package of the workspace, all ranges by which it is asked for, and for each its
 * dependencies. Blocks are separated by empty lines.
 */
function editYarnLock(text: string, folders: readonly FolderChanges[]): string {
  const blocks = text.split(/\n(?=\S)/)
  const moved = new Map<string, Map<string, string>>()
  const inFolder = new Map<string, FolderChanges>()
  for (const each of folders) inFolder.set(each.folder === '' ? '.' : each.folder, each)
  const edited = blocks.map((block) => {
    const [, folder] = /^"?[^"\n]*@workspace:([^",\n:]+)"?:/.exec(block) ?? []
    const found = folder === undefined ? undefined : inFolder.get(folder)
    let changed = block
    for (const { path, value } of found?.changes ?? []) {
      const dependency = String(path[1])
      if (path.length < 2) continue
      const line = new RegExp(`^( {4}"?${escapePattern(dependency)}"?: )"?([^"\\n]+?)"?$`, 'm')
      const [, , before] = line.exec(changed) ?? []
      if (before === undefined) continue
      const ranges = moved.get(dependency) ?? new Map<string, string>()
      moved.set(dependency, ranges.set(before, isWorkspaceRange(value) ? value : `npm:${value}`))
      const after = ranges.get(before)!
      changed = changed.replace(line, (_, head: string) => `${head}"${after}"`)
    }
    return changed
  })
  return edited.map((block) => withMovedRanges(block, moved)).join('\n')
}

/**
 * uv keeps the version of each package of the workspace, and no ranges between them. A version that a build makes is
 * not there.
 */
function editUvLock(text: string, folders: readonly FolderChanges[]): string {
  const versions = new Map<string, string>()
  for (const { folder, changes } of folders) {
    const version = changes.find(({ path }) => path.join('.') === 'project.version')?.value
    if (version !== undefined) versions.set(folder === '' ? '.' : folder, version)
  }
  return text
    .split(/^(?=\[\[package\]\])/m)
    .map((block) => {
      const [, folder] =
        /^source = \{ (?:editable|virtual|directory) = "([^"]*)" \}/m.exec(block) ?? []
      const version = folder === undefined ? undefined : versions.get(folder)
      if (version === undefined) return block
      return block.replace(/^(version = )"[^"]*"/m, (_, head: string) => `${head}"${version}"`)
    })
    .join('')
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)
}

/** The head of a block: `"core@npm:^1.0.0, core@workspace:packages/core":` */
function withMovedRanges(
  block: string,
  moved: ReadonlyMap<string, ReadonlyMap<string, string>>,
): string {
  const [, head] = /^"([^"\n]+)":/.exec(block) ?? []
  if (head?.includes('@workspace:') !== true) return block
  const entries = head.split(', ').map((entry) => {
    const at = entry.indexOf('@', 1)
    const after = moved.get(entry.slice(0, at))?.get(entry.slice(at + 1))
    return after === undefined ? entry : `${entry.slice(0, at)}@${after}`
  })
  const sorted = [...new Set(entries)].toSorted()
  return block.replace(`"${head}":`, `"${sorted.join(', ')}":`)
}
