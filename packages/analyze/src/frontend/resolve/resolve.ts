/**
 * Where imports lead.
 *
 * Wanted is the source that a person edits, not what would be loaded: `./x.js` is `x.ts` if that
 * exists, a package of the same workspace is its source, not its `dist`. Everything below
 * `node_modules` belongs to others and stays a name.
 *
 *   node: or builtin ─▶ node      ./x ../x /x ─▶ file      #x ─▶ imports of the own package
 *   bare name ─▶ tsconfig paths ─▶ package of the program (exports, then dist → src) ─▶ package
 *
 * I1. Never throws; what leads nowhere is `unresolved`.
 * I2. A file is named by the path under which the program knows it, or else by its real path.
 */
import { realpathSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { isSourceFile } from '../language.ts'
import { exportTargets, matchStar, subpathTargets } from './exports.ts'
import { Folders } from './folders.ts'
import { asObject, readJsonObject } from './read-json.ts'
import type { JsonObject } from './read-json.ts'
import type { ImportMode, ImportTarget } from './target.ts'
import { readTsconfig } from './tsconfig.ts'
import type { ResolutionConfig } from './tsconfig.ts'

interface PackageFolder {
  readonly folder: string
  readonly json: JsonObject
}

const extensions = ['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs']

/** Extensions of output, and those of its source. */
const writtenAs: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
}

const unresolved: ImportTarget = { kind: 'unresolved' }

export class Resolver {
  readonly #program: ReadonlySet<string>
  readonly #folders = new Folders()
  readonly #packages = new Map<string, PackageFolder | undefined>()
  readonly #modules = new Map<string, readonly string[]>()
  readonly #configs = new Map<string, ResolutionConfig | undefined>()
  readonly #answers = new Map<string, ImportTarget>()
  #workspace: ReadonlyMap<string, PackageFolder> | undefined

  /** @param files Absolute paths of the program. */
  constructor(files: Iterable<string>) {
    this.#program = new Set(files)
  }

  /** What `specifier` means in `fromFile`, which is absolute. */
  resolveImport(fromFile: string, specifier: string, mode: ImportMode = 'import'): ImportTarget {
    const folder = path.dirname(fromFile)
    const key = `${mode}\0${folder}\0${specifier}`
    let answer = this.#answers.get(key)
    if (answer === undefined) {
      answer = this.#resolve(folder, specifier.replace(/\?.*$/s, ''), mode)
      this.#answers.set(key, answer)
    }
    return answer
  }

  #resolve(folder: string, specifier: string, mode: ImportMode): ImportTarget {
    if (isBuiltin(specifier)) return { kind: 'node', module: specifier.replace(/^node:/, '') }
    if (/^\.{1,2}(?:\/|$)/.test(specifier) || path.isAbsolute(specifier)) {
      return this.#asFile(this.#findFile(path.resolve(folder, specifier)))
    }
    if (specifier.startsWith('file:')) return this.#asFile(filePath(specifier))
    if (/^[a-z]+:/.test(specifier) || specifier === '') return unresolved
    if (specifier.startsWith('#')) return this.#resolveInternal(folder, specifier, mode)
    return this.#resolveBare(folder, specifier, mode)
  }

  #asFile(file: string | undefined): ImportTarget {
    if (file === undefined) return unresolved
    if (this.#program.has(file)) return { kind: 'file', file }
    const real = tryRealpath(file)
    return { kind: 'file', file: real ?? file }
  }

  #resolveBare(folder: string, specifier: string, mode: ImportMode): ImportTarget {
    const config = this.#configOf(folder)
    const mapped = this.#findMapped(config, specifier)
    if (mapped !== undefined) return this.#asFile(mapped)
    const { name, subpath } = splitName(specifier)
    const own = this.#workspacePackages().get(name) ?? this.#linkedPackage(folder, name)
    if (own !== undefined) {
      const file = this.#findInPackage(own, subpath, conditionsOf(config, mode))
      if (file !== undefined) return this.#asFile(file)
    }
    return { kind: 'package', name, subpath }
  }

  #resolveInternal(folder: string, specifier: string, mode: ImportMode): ImportTarget {
    const own = this.#packageOf(folder)
    const map = asObject(own?.json['imports'])
    if (own === undefined || map === undefined) {
      const mapped = this.#findMapped(this.#configOf(folder), specifier)
      return this.#asFile(mapped)
    }
    const conditions = conditionsOf(this.#configOf(folder), mode)
    for (const target of subpathTargets(map, specifier, conditions)) {
      if (!target.startsWith('.')) return this.#resolve(folder, target.replace(/^#/, ''), mode)
      const file = this.#findSourceOf(own.folder, target)
      if (file !== undefined) return this.#asFile(file)
    }
    return unresolved
  }

  #findMapped(config: ResolutionConfig | undefined, specifier: string): string | undefined {
    if (config === undefined) return undefined
    const exact = config.paths.find(({ pattern }) => pattern === specifier)
    const fitting = config.paths
      .map((mapping) => ({ ...mapping, star: matchStar(mapping.pattern, specifier) }))
      .filter(({ star }) => star !== undefined)
      .sort((a, b) => b.pattern.indexOf('*') - a.pattern.indexOf('*'))
    const targets =
      exact?.targets ??
      fitting[0]?.targets.map((target) => target.replace('*', () => fitting[0]?.star ?? '')) ??
      []
    const bare = config.baseUrl === undefined ? [] : [path.join(config.baseUrl, specifier)]
    for (const target of [...targets, ...bare]) {
      const file = this.#findFile(target)
      if (file !== undefined) return file
    }
    return undefined
  }

  #findInPackage(
    { folder, json }: PackageFolder,
    subpath: string,
    conditions: ReadonlySet<string>,
  ): string | undefined {
    const { exports } = json
    const targets =
      exports === undefined || exports === null
        ? legacyTargets(json, subpath)
        : exportTargets(exports, subpath, conditions)
    for (const target of targets) {
      const file = this.#findSourceOf(folder, target)
      if (file !== undefined) return file
    }
    return exports === undefined && subpath === '.'
      ? (this.#findFile(path.join(folder, 'src')) ?? this.#findFile(folder))
      : undefined
  }

  /** The source behind a target of a package: itself, or the file it is built from. */
  #findSourceOf(folder: string, target: string): string | undefined {
    const direct = this.#findFile(path.join(folder, target))
    const isInProgram = direct !== undefined && this.#program.has(direct)
    if (isInProgram) return direct
    const source = target
      .replace(/\.d\.([cm]?)ts$/, '.$1js')
      .replace(/^(?:\.\/)?(?:dist|lib|build|out|esm|cjs)\/(?:(?:esm|cjs|src)\/)?/, './src/')
    return this.#findFile(path.join(folder, source)) ?? direct
  }

  /** A file by a path that may lack its extension, name its output, or be a folder. */
  #findFile(wanted: string): string | undefined {
    const extension = path.extname(wanted)
    const stem = wanted.slice(0, wanted.length - extension.length)
    for (const written of writtenAs[extension] ?? []) {
      if (this.#isFile(stem + written)) return stem + written
    }
    if (this.#isFile(wanted)) return isSourceFile(wanted) ? wanted : undefined
    for (const added of extensions) if (this.#isFile(wanted + added)) return wanted + added
    return this.#folders.isFolder(wanted) ? this.#findIndex(wanted) : undefined
  }

  #findIndex(folder: string): string | undefined {
    const { main } = this.#packageAt(folder)?.json ?? {}
    if (typeof main === 'string' && !/^\.?\/?$/.test(main)) {
      const file = this.#findSourceOf(folder, main)
      if (file !== undefined) return file
    }
    for (const added of extensions) {
      const index = path.join(folder, `index${added}`)
      if (this.#isFile(index)) return index
    }
    return undefined
  }

  #isFile(file: string): boolean {
    return this.#program.has(file) || this.#folders.isFile(file)
  }

  /** A package of the workspace that is linked into `node_modules`. */
  #linkedPackage(folder: string, name: string): PackageFolder | undefined {
    for (const modules of this.#modulesOver(folder)) {
      const found = path.join(modules, name)
      if (!this.#folders.isFolder(found)) continue
      const real = tryRealpath(found)
      const isOurs = real !== undefined && !real.split(path.sep).includes('node_modules')
      return isOurs ? this.#packageAt(real) : undefined
    }
    return undefined
  }

  /** The `node_modules` that an import looks in, nearest first. Most folders have none of their own. */
  #modulesOver(folder: string): readonly string[] {
    let found = this.#modules.get(folder)
    if (found === undefined) {
      const own = path.join(folder, 'node_modules')
      const parent = path.dirname(folder)
      const above = parent === folder ? [] : this.#modulesOver(parent)
      found = this.#folders.isFolder(own) ? [own, ...above] : above
      this.#modules.set(folder, found)
    }
    return found
  }

  /** Packages that files of the program belong to, by name. */
  #workspacePackages(): ReadonlyMap<string, PackageFolder> {
    if (this.#workspace !== undefined) return this.#workspace
    const found = new Map<string, PackageFolder>()
    for (const folder of new Set([...this.#program].map((file) => path.dirname(file)))) {
      const own = this.#packageOf(folder)
      const name = own?.json['name']
      if (own !== undefined && typeof name === 'string' && !found.has(name)) found.set(name, own)
    }
    this.#workspace = found
    return found
  }

  #packageOf(folder: string): PackageFolder | undefined {
    if (this.#packages.has(folder)) return this.#packages.get(folder)
    const parent = path.dirname(folder)
    const found =
      this.#packageAt(folder) ?? (parent === folder ? undefined : this.#packageOf(parent))
    this.#packages.set(folder, found)
    return found
  }

  #packageAt(folder: string): PackageFolder | undefined {
    const file = path.join(folder, 'package.json')
    const json = this.#folders.isFile(file) ? readJsonObject(file) : undefined
    return json === undefined ? undefined : { folder, json }
  }

  #configOf(folder: string): ResolutionConfig | undefined {
    if (this.#configs.has(folder)) return this.#configs.get(folder)
    const file = ['tsconfig.json', 'jsconfig.json']
      .map((name) => path.join(folder, name))
      .find((candidate) => this.#folders.isFile(candidate))
    const parent = path.dirname(folder)
    const above = (): ResolutionConfig | undefined =>
      parent === folder ? undefined : this.#configOf(parent)
    const found = file === undefined ? above() : readTsconfig(file)
    this.#configs.set(folder, found)
    return found
  }
}

function conditionsOf(config: ResolutionConfig | undefined, mode: ImportMode): ReadonlySet<string> {
  return new Set([...(config?.customConditions ?? []), mode, 'node', 'source', 'types', 'module'])
}

function legacyTargets(json: JsonObject, subpath: string): readonly string[] {
  if (subpath !== '.') return [subpath]
  return [json['source'], json['module'], json['main']].filter(
    (target) => typeof target === 'string',
  )
}

function splitName(specifier: string): { readonly name: string; readonly subpath: string } {
  const parts = specifier.split('/')
  const count = specifier.startsWith('@') ? 2 : 1
  const rest = parts.slice(count).join('/')
  return { name: parts.slice(0, count).join('/'), subpath: rest === '' ? '.' : `./${rest}` }
}

function filePath(url: string): string | undefined {
  try {
    return path.resolve(decodeURIComponent(new URL(url).pathname))
  } catch {
    return undefined
  }
}

function tryRealpath(file: string): string | undefined {
  try {
    return realpathSync(file)
  } catch {
    return undefined
  }
}
