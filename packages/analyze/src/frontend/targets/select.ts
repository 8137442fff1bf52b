/**
 * From the targets to the files that are read and the parts that are shown.
 *
 * Read is more than shown: lines and functions are judged with the package around them, because
 * their callees and the other writers of their state are there. Folders are read as they are named.
 *
 *   paths ─▶ their files, shown whole      file:lines, file#function ─▶ the package, shown in part
 *   - ─▶ the snippet alone                 changed since ─▶ of all that, only what changed
 */
import { existsSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { suggest } from '@heddle/core/lowlevel'
import type { Diagnostic } from '../../analysis.ts'
import type { Finding } from '../../finding.ts'
import { discover, toSlashes } from '../discover.ts'
import { isSourceFile } from '../language.ts'
import { parseSource } from '../parse.ts'
import { readSource } from '../source-text.ts'
import { functionNames } from './function-names.ts'
import { changedSince } from './git-changes.ts'
import type { ChangedLines, LineRange } from './git-changes.ts'
import { parseTarget } from './parse-target.ts'
import type { TargetSpec } from './parse-target.ts'
import { snippetOf } from './snippet.ts'
import { addParts, concerns, filesOf, isInChange, wholeFile } from './wanted.ts'
import type { WantedPart } from './wanted.ts'

export interface SelectOptions {
  /** Absolute. Targets start here, and findings name files from here. */
  readonly root: string
  /** Only changes since this revision. */
  readonly changedSince?: string
  /** Globs of files to leave out. */
  readonly exclude?: readonly string[]
  /** The base of those globs. Absolute; default: the root. */
  readonly excludeFrom?: string
  /** The text for the target `-`. */
  readonly stdin?: string
  readonly signal?: AbortSignal
}

export interface Selection {
  /** Absolute, sorted: the program. Empty when nothing that was asked for can have findings. */
  readonly files: readonly string[]
  /** Those of them that can have findings that were asked for; absent when all can. Absolute. */
  readonly wanted?: readonly string[] | undefined
  /** Text of files that are not on disk. */
  readonly overlays: ReadonlyMap<string, string>
  readonly diagnostics: readonly Diagnostic[]
  /**
   * Whether a finding is in one of the targets.
   *
   * @param extent The lines of its function: with them, changes anywhere in the function count.
   */
  isWanted(finding: Finding, extent?: LineRange): boolean
  /** Whether all of a file was asked for. `file` as in findings: relative to the root, with `/`. */
  isWhole(file: string): boolean
}

/**
 * Finds the files to read and the parts to show.
 *
 * *Cancellation*: ends started processes; nothing is left behind.
 * *Fairness*: none needed.
 * @throws `HDL_NO_SUCH_SOURCE`, `HDL_BAD_TARGET`
 */
export async function selectTargets(
  targets: readonly string[],
  options: SelectOptions,
): Promise<Selection> {
  const picker = new Picker(options)
  for (const target of targets) picker.add(target)
  const changed =
    options.changedSince === undefined
      ? undefined
      : await changedSince(options.changedSince, options)
  return picker.finish(changed)
}

class Picker {
  readonly #options: SelectOptions
  readonly #files = new Set<string>()
  readonly #overlays = new Map<string, string>()
  readonly #diagnostics: Diagnostic[] = []
  readonly #parts = new Map<string, WantedPart>()

  constructor(options: SelectOptions) {
    this.#options = options
  }

  add(target: string): void {
    const spec = parseTarget(target, (file) => existsSync(this.#absolute(file)))
    switch (spec.kind) {
      case 'path':
        for (const file of this.#discover(spec.path)) this.#want(file, wholeFile)
        break
      case 'lines':
        this.#addLines(target, spec)
        break
      case 'function':
        this.#addFunction(target, spec)
        break
      case 'stdin': {
        const { file, text } = snippetOf(this.#options.stdin ?? '', this.#options.root, existsSync)
        this.#overlays.set(file, text)
        this.#files.add(file)
        this.#want(file, wholeFile)
      }
    }
  }

  finish(changed: ChangedLines | undefined): Selection {
    const changes = changed === undefined ? undefined : this.#changesOf(changed)
    const wanted = [...this.#parts.keys()].filter((file) => changes?.has(file) ?? true)
    return {
      files: wanted.length > 0 ? [...this.#files].sort() : [],
      ...(wanted.length < this.#files.size && {
        wanted: wanted.map((file) => this.#absolute(file)),
      }),
      overlays: this.#overlays,
      diagnostics: this.#diagnostics,
      isWhole: (file) =>
        (this.#parts.get(file)?.isWhole ?? false) &&
        (changes === undefined || changes.get(file) === 'all'),
      isWanted: (finding, extent) =>
        filesOf(finding).some((file) => {
          const part = this.#parts.get(file)
          if (part === undefined || !concerns(finding, file, part)) return false
          const lines = changes === undefined ? 'all' : changes.get(file)
          return (
            lines === 'all' || (lines !== undefined && isInChange(finding, file, lines, extent))
          )
        }),
    }
  }

  #addLines(target: string, spec: TargetSpec & { readonly kind: 'lines' }): void {
    const file = this.#fileOf(target, spec.path)
    const parsed = this.#parse(target, file)
    const count = parsed.lineAt(parsed.text.length).line
    if (spec.from > count) throw bad(target, `is behind the end: the file has ${count} lines`)
    this.#want(file, { ...nothing, lines: [[spec.from, spec.to]] })
    this.#addPackageOf(file)
  }

  #addFunction(target: string, spec: TargetSpec & { readonly kind: 'function' }): void {
    const file = this.#fileOf(target, spec.path)
    const names = functionNames(this.#parse(target, file))
    const unknown = spec.name.split('.').find((name) => !names.has(name))
    if (unknown !== undefined) {
      const similar = suggest(unknown, [...names])
      const hint = similar === undefined ? '' : `; did you mean ${similar}?`
      throw bad(target, `has no function ${unknown}${hint}`)
    }
    this.#want(file, { ...nothing, functions: [spec.name] })
    this.#addPackageOf(file)
  }

  #addPackageOf(file: string): void {
    this.#files.add(file)
    this.#discover(packageFolder(file, this.#options.root))
  }

  #discover(wanted: string): readonly string[] {
    const { root, exclude, excludeFrom, signal } = this.#options
    const found = discover([wanted], {
      root,
      ...(exclude === undefined ? {} : { exclude }),
      ...(excludeFrom === undefined ? {} : { excludeFrom }),
      ...(signal === undefined ? {} : { signal }),
    })
    for (const file of found.files) this.#files.add(file)
    this.#diagnostics.push(...found.diagnostics)
    return found.files
  }

  #parse(target: string, file: string): ReturnType<typeof parseSource> {
    const source = readSource(file)
    if ('reason' in source)
      throw bad(target, `cannot be used: ${source.message.replace(/\.$/, '')}`)
    return parseSource(file, source.text)
  }

  #fileOf(target: string, name: string): string {
    const file = this.#absolute(name)
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats === undefined) throw new HeddleError('HDL_NO_SUCH_SOURCE', { path: name })
    if (!stats.isFile() || !isSourceFile(file)) throw bad(target, 'is not a source file')
    return file
  }

  #want(file: string, part: WantedPart): void {
    const name = this.#relative(file)
    this.#parts.set(name, addParts(this.#parts.get(name), part))
  }

  /** Git names files by their real paths. */
  #changesOf(changed: ChangedLines): ReadonlyMap<string, readonly LineRange[] | 'all'> {
    const realRoot = realpathSync(this.#options.root)
    return new Map(
      [...changed].map(([file, lines]) => [toSlashes(path.relative(realRoot, file)), lines]),
    )
  }

  #absolute(file: string): string {
    return path.resolve(this.#options.root, file)
  }

  #relative(file: string): string {
    return toSlashes(path.relative(this.#options.root, file))
  }
}

const nothing: WantedPart = { isWhole: false, lines: [], functions: [] }

/** The nearest folder with a package.json; without one the root, or the file's own folder outside of it. */
function packageFolder(file: string, root: string): string {
  for (let at = path.dirname(file); ; at = path.dirname(at)) {
    if (existsSync(path.join(at, 'package.json'))) return at
    if (at === root || existsSync(path.join(at, '.git'))) return at
    if (path.dirname(at) === at) return path.dirname(file)
  }
}

function bad(target: string, problem: string): HeddleError {
  return new HeddleError('HDL_BAD_TARGET', { target, problem })
}
