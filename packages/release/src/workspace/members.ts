/**
 * Which folders belong to a workspace.
 *
 * The tools agree on `packages/*` and differ in the rest:
 *
 *   npm         patterns are taken in their order: a later one adds back folders that an earlier `!` excluded
 *   pnpm, yarn, bun   whatever a `!` matches is out, wherever it stands
 *   uv          no `!`; a list of its own, `exclude`
 *
 * For all of them:
 *  M1  `node_modules` is never entered; hidden folders only if a pattern names them.
 *  M2  A folder that is a workspace of its own may be a member, but is not entered. The tools do enter
 *      it, so this is reported.
 *  M3  A symbolic link to a folder is a member like a folder; `**` does not go through it, so that a
 *      link to a folder above does not make an endless walk.
 *  M4  One folder is one member, however many paths lead to it: the one without links counts.
 *  M5  The result is sorted and does not depend on the order in which the disk answers.
 */
import { readdir, realpath, stat } from 'node:fs/promises'
import type { Dirent } from 'node:fs'
import path from 'node:path'
import picomatch from 'picomatch'
import { mapLimited, readsAtOnce } from './limited.ts'
import { compareText } from './workspace-problems.ts'

export interface Members {
  /** Absolute, sorted. */
  readonly folders: readonly string[]
  /** Absolute: workspaces of their own in which patterns could have found more. */
  readonly notEntered: readonly string[]
}

export interface MemberPatterns {
  readonly manifest: 'package.json' | 'pyproject.toml'
  /** The patterns as written, `!` included. */
  readonly patterns: readonly string[]
  readonly exclude: readonly string[]
  /** Whether a later pattern overrules an earlier one. */
  readonly isOrdered: boolean
}

interface Walk {
  readonly folder: string
  /** How many folders deep below it a member can be. */
  readonly depth: number
  readonly throughHidden: boolean
}

/** Paths of folders are written with `/` and without `./`, as Git does; the root is empty. */
const clean = (pattern: string): string =>
  pattern
    .replaceAll('\\', '/')
    .replace(/^(?:\.\/)+/, '')
    .replace(/\/+$/, '')
    .replace(/^\.$/, '')

/** Whether a pattern leads out of the workspace. Nothing there can be released with it. */
export function leadsOutside(pattern: string): boolean {
  return /^!?(?:\.\.(?:\/|$)|\/|[a-z]:)/i.test(clean(pattern))
}

/**
 * The folders below the root that a set of patterns means, absolute. Whether they hold a manifest is
 * for the reader to see.
 *
 * *Cancellation*: nothing is left behind.
 * *Fairness*: folders are read in their order, a few at a time.
 */
export async function findMembers(
  root: string,
  { manifest, patterns, exclude, isOrdered }: MemberPatterns,
  isWorkspace: (folder: string) => Promise<boolean>,
  signal?: AbortSignal,
): Promise<Members> {
  const rules = patterns.map((pattern) => {
    const isNegated = pattern.startsWith('!')
    const glob = clean(isNegated ? pattern.slice(1) : pattern)
    return { isNegated, glob, matches: matcher(glob, manifest) }
  })
  const excluded = exclude.map((pattern) => matcher(clean(pattern), manifest))
  const accepts = (folder: string): boolean => {
    if (excluded.some((matches) => matches(folder))) return false
    const hits = rules.filter(({ matches }) => matches(folder))
    if (isOrdered) return hits.at(-1)?.isNegated === false
    return hits.length > 0 && hits.every(({ isNegated }) => !isNegated)
  }
  const found = new Set<string>()
  const notEntered = new Set<string>()
  const isClosed = async (folder: string): Promise<boolean> => {
    if (!(await isWorkspace(path.join(root, folder)))) return false
    notEntered.add(path.join(root, folder))
    return true
  }
  for (const { isNegated, glob } of rules) {
    if (isNegated) continue
    for (const folder of await walk(root, walkOf(glob), isClosed, signal)) {
      if (accepts(folder)) found.add(folder)
    }
  }
  // The root belongs to itself, also where a link leads back to it.
  const folders = [
    root,
    ...[...found].toSorted(compareText).map((folder) => path.join(root, folder)),
  ]
  const members = await withoutTwins(folders, signal)
  return {
    folders: members.filter((folder) => folder !== root),
    notEntered: [...notEntered].toSorted(compareText),
  }
}

/** Compared with the manifest at its end, as the tools do: a pattern that ends in `test/**` is for `test` too then. */
function matcher(glob: string, manifest: string): (folder: string) => boolean {
  const matches = picomatch(glob === '' ? manifest : `${glob}/${manifest}`)
  return (folder) => matches(folder === '' ? manifest : `${folder}/${manifest}`)
}

function walkOf(pattern: string): Walk {
  const { base, glob } = picomatch.scan(pattern)
  if (glob === '') return { folder: pattern, depth: 0, throughHidden: true }
  // Braces and parentheses may hide any number of slashes.
  const isDeep = glob.includes('**') || /[{(][^})]*\//.test(glob)
  const depth = isDeep ? Infinity : glob.split('/').length
  return { folder: base, depth, throughHidden: /(?:^|\/)\./.test(glob) }
}

/** Folders from the start on, relative to the root. */
async function walk(
  root: string,
  { folder: start, depth, throughHidden }: Walk,
  isClosed: (folder: string) => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const found: string[] = [start]
  let level = [start]
  const list = async (folder: string): Promise<string[]> => {
    const absolute = path.join(root, folder)
    if (folder !== '' && (await isClosed(folder))) return []
    const entries = await entriesOf(absolute)
    const hidden = (name: string): boolean => name.startsWith('.') && !throughHidden
    const names: string[] = []
    for (const entry of entries) {
      const { name } = entry
      if (name === 'node_modules' || name === 'bower_components' || name === '.git' || hidden(name))
        continue
      if (entry.isDirectory()) names.push(name)
      else if (entry.isSymbolicLink() && (await isFolder(path.join(absolute, name)))) {
        found.push(join(folder, name))
        if (depth !== Infinity) names.push(name)
      }
    }
    return names.map((name) => join(folder, name))
  }
  for (let left = depth; left > 0 && level.length > 0; left--) {
    level = (await mapLimited(level, readsAtOnce, list, signal)).flat()
    found.push(...level)
  }
  return found
}

const join = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`)

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    // It is missing, or may not be read: an unreadable folder has no members.
    return []
  }
}

async function isFolder(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isDirectory()
  } catch {
    // A link to nothing.
    return false
  }
}

async function withoutTwins(
  folders: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const real = await mapLimited(
    folders,
    readsAtOnce,
    async (folder) => realpath(folder).catch(() => undefined),
    signal,
  )
  const chosen = new Map<string, string>()
  for (const [index, folder] of folders.entries()) {
    const target = real[index]
    // A pattern without wildcards may name a folder that does not exist.
    if (target === undefined) continue
    if (!chosen.has(target) || target === folder) chosen.set(target, folder)
  }
  return [...chosen.values()].toSorted(compareText)
}
