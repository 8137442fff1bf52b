/**
 * Which files there are to analyse.
 *
 * A file that is named is always taken. In folders and globs, `node_modules`, `dist`, `.git` and what
 * git ignores is left out, as are declarations. Links are followed, every folder and file is taken
 * once, so loops of links end. Unreadable files are reported and do not stop the rest.
 */
import { lstatSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs'
import type { Dirent, Stats } from 'node:fs'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { describe } from '@heddle/core/lowlevel'
import type { Diagnostic } from '../analysis.ts'
import { IgnoreRules } from './gitignore.ts'
import { isSourceFile } from './language.ts'

export interface DiscoverOptions {
  /** Absolute. Relative paths and globs start here. */
  readonly root: string
  /** Globs of files to leave out. */
  readonly exclude?: readonly string[]
  /** The base of those globs. Absolute; default: the root. */
  readonly excludeFrom?: string
  /** Also take files that are left out by default. Default false. */
  readonly withIgnored?: boolean
  readonly signal?: AbortSignal
}

export interface Discovery {
  /** Absolute, sorted. */
  readonly files: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

const alwaysIgnored = new Set(['node_modules', 'dist', '.git'])

/**
 * Finds the source files of paths: files, folders and globs.
 *
 * @throws `HDL_NO_SUCH_SOURCE` when a path that was asked for does not exist, or a glob has no files.
 */
export function discover(paths: readonly string[], options: DiscoverOptions): Discovery {
  const walk = new Walk(options)
  for (const wanted of paths) walk.take(wanted)
  return { files: [...walk.files].sort(), diagnostics: walk.diagnostics }
}

class Walk {
  readonly files = new Set<string>()
  readonly diagnostics: Diagnostic[] = []
  readonly #options: DiscoverOptions
  readonly #seen = new Set<string>()

  constructor(options: DiscoverOptions) {
    this.#options = options
  }

  take(wanted: string): void {
    const absolute = path.resolve(this.#options.root, wanted)
    const stats = tryStat(absolute)
    if (stats?.isFile()) this.files.add(absolute)
    else if (stats?.isDirectory()) this.#takeFolder(absolute, () => true)
    else if (/[*?[{]/.test(wanted)) this.#takeGlob(wanted)
    else throw new HeddleError('HDL_NO_SUCH_SOURCE', { path: wanted })
  }

  #takeGlob(glob: string): void {
    const pattern = toSlashes(path.resolve(this.#options.root, glob))
    const fixed = pattern.slice(0, pattern.search(/[*?[{]/))
    const folder = fixed.slice(0, Math.max(1, fixed.lastIndexOf('/')))
    const before = this.files.size
    if (tryStat(folder)?.isDirectory()) {
      this.#takeFolder(folder, (file) => path.posix.matchesGlob(file, pattern))
    }
    if (this.files.size === before) throw new HeddleError('HDL_NO_SUCH_SOURCE', { path: glob })
  }

  #takeFolder(folder: string, isWanted: (file: string) => boolean): void {
    const rules = this.#options.withIgnored ? IgnoreRules.none : rulesAbove(folder)
    this.#walk(folder, realpathSync(folder), rules, isWanted)
  }

  #walk(
    folder: string,
    realFolder: string,
    above: IgnoreRules,
    isWanted: (file: string) => boolean,
  ): void {
    this.#options.signal?.throwIfAborted()
    if (this.#seen.has(realFolder)) return
    this.#seen.add(realFolder)
    const entries = this.#list(folder)
    const rules = this.#options.withIgnored ? above : withOwnRules(above, folder)
    for (const entry of entries) {
      const full = path.join(folder, entry.name)
      const kind = this.#kindOf(entry, full)
      if (kind === undefined || this.#isLeftOut(full, entry.name, kind.isFolder, rules)) continue
      const real = kind.real ?? path.join(realFolder, entry.name)
      if (kind.isFolder) this.#walk(full, real, rules, isWanted)
      else if (isSourceFile(full) && isWanted(toSlashes(full))) this.#add(full, real)
    }
  }

  #add(file: string, real: string): void {
    if (this.#seen.has(real)) return
    this.#seen.add(real)
    this.files.add(file)
  }

  /** Links count as their target. Devices, sockets and pipes are neither file nor folder. */
  #kindOf(entry: Dirent, full: string): { isFolder: boolean; real?: string } | undefined {
    if (entry.isDirectory()) return { isFolder: true }
    if (entry.isFile()) return { isFolder: false }
    if (!entry.isSymbolicLink()) return undefined
    const target = tryStat(full)
    if (target === undefined || (!target.isDirectory() && !target.isFile())) return undefined
    return { isFolder: target.isDirectory(), real: realpathSync(full) }
  }

  #isLeftOut(full: string, name: string, isFolder: boolean, rules: IgnoreRules): boolean {
    const slashed = toSlashes(full)
    const isIgnored =
      !this.#options.withIgnored &&
      ((isFolder && alwaysIgnored.has(name)) || rules.ignores(slashed, isFolder))
    if (isIgnored) return true
    const { root, exclude = [], excludeFrom = root } = this.#options
    const relative = toSlashes(path.relative(excludeFrom, full))
    return exclude.some((glob) => path.posix.matchesGlob(relative, glob))
  }

  #list(folder: string): readonly Dirent[] {
    try {
      return readdirSync(folder, { withFileTypes: true })
    } catch (error) {
      const file = toSlashes(path.relative(this.#options.root, folder))
      this.diagnostics.push({
        kind: 'unreadable',
        file,
        message: `The folder ${file} cannot be read: ${describe(error)}`,
        isIncomplete: true,
      })
      return []
    }
  }
}

/** The rules of the folders between the repository's root and this one. */
function rulesAbove(folder: string): IgnoreRules {
  const above: string[] = []
  for (let at = folder; !exists(path.join(at, '.git')); at = path.dirname(at)) {
    const parent = path.dirname(at)
    if (parent === at) return IgnoreRules.none
    above.unshift(parent)
  }
  return above.reduce(withOwnRules, IgnoreRules.none)
}

function withOwnRules(above: IgnoreRules, folder: string): IgnoreRules {
  try {
    return above.below(toSlashes(folder), readFileSync(path.join(folder, '.gitignore'), 'utf8'))
  } catch {
    return above
  }
}

function exists(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}

function tryStat(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    // A link that points to itself, a folder without permission.
    return undefined
  }
}

export function toSlashes(file: string): string {
  return path.sep === '/' ? file : file.replaceAll(path.sep, '/')
}
