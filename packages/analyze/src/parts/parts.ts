/**
 * Parts of a program that have nothing to do with each other.
 *
 * A part is a package of the program, or several that import each other. Findings of one part do not
 * depend on the others: a method that only one class *of the part* has is still a guess worth making,
 * and two packages that never meet share no state. So parts are analysed one after the other, which
 * needs the memory of the largest, not of all, or each in a thread.
 *
 * I1. Every file is in exactly one part.
 * I2. The parts depend on the texts only, not on the targets or the cache.
 *
 * Imports are found in the text, before anything is parsed. One that is written so that it is not found
 * (a name with an escape in it) and leads out of its package is not followed.
 */
import path from 'node:path'
import type { Clock } from '@heddle/core/lowlevel'
import { readJsonObject } from '../frontend/resolve/read-json.ts'
import type { Resolver } from '../frontend/resolve/resolve.ts'
import { Turns } from '../frontend/turns.ts'

/** Absolute paths of files, sorted. */
export type Part = readonly string[]

/**
 * Splits the files of a program, in the order of their first files.
 *
 * *Cancellation*: the signal is checked between files. *Fairness*: it yields to the loop every few.
 */
export async function partsOf(
  files: readonly string[],
  textOf: (file: string) => string | undefined,
  resolver: Resolver,
  clock: Clock,
  signal?: AbortSignal,
): Promise<readonly Part[]> {
  const packages = new PackageFolders()
  const groups = new Groups()
  const sorted = [...files].sort()
  for (const file of sorted) groups.add(file, packages.of(file))
  if (groups.count > 1) {
    const program = new Set(files)
    const turns = new Turns(clock)
    for (const file of sorted) {
      signal?.throwIfAborted()
      for (const specifier of importsIn(textOf(file) ?? '')) {
        if (staysInside(file, specifier, packages)) continue
        const target = resolver.resolveImport(file, specifier)
        if (target.kind === 'file' && program.has(target.file)) groups.join(file, target.file)
      }
      await turns.next()
    }
  }
  return groups.all()
}

/** White space and comments. Each can be read in one way only, so that nothing is tried twice. */
const gap = String.raw`(?:\s|/\*[^*]*(?:\*(?!/)[^*]*)*\*/|//[^\n]*\n)*`
const imported = new RegExp(
  String.raw`\b(?:from|import|require)${gap}(?:\(${gap})?(['"])([^'"\n]+)\1`,
  'g',
)

function importsIn(text: string): ReadonlySet<string> {
  return new Set(Array.from(text.matchAll(imported), (match) => match[2]!))
}

/** `./x`: by far the most, so that nothing has to be looked up for it. */
const isBeside = /^\.\/(?!\.\.?$)[^/]+$/

/** `./x` and `../x` that do not leave the package: by far the most, and nothing has to be looked up. */
function staysInside(file: string, specifier: string, packages: PackageFolders): boolean {
  if (!specifier.startsWith('.')) return specifier.startsWith('node:')
  const folder = packages.of(file)
  if (isBeside.test(specifier) && !packages.isNesting(folder)) return true
  const target = path.resolve(path.dirname(file), specifier)
  return target === folder || (packages.of(target) === folder && !packages.has(target))
}

/** The folder of the package that a file belongs to: the nearest one whose manifest has a name. */
export class PackageFolders {
  readonly #known = new Map<string, string>()
  readonly #found = new Set<string>()
  #nesting: ReadonlySet<string> | undefined

  /** Whether a file that was asked about belongs to the package in this folder. */
  has(folder: string): boolean {
    return this.#found.has(folder)
  }

  /** Whether another package of those that were asked about is inside the one in this folder. */
  isNesting(folder: string): boolean {
    this.#nesting ??= this.#around()
    return this.#nesting.has(folder)
  }

  of(file: string): string {
    const folder = this.#in(path.dirname(file))
    this.#found.add(folder)
    return folder
  }

  /** All packages around the requested ones. */
  #around(): ReadonlySet<string> {
    const around = new Set<string>()
    for (const inner of this.#found) {
      let at = inner
      for (
        let outer = this.#in(path.dirname(at));
        outer !== at;
        outer = this.#in(path.dirname(at))
      ) {
        if (around.has(outer)) break
        around.add((at = outer))
      }
    }
    return around
  }

  #in(folder: string): string {
    let found = this.#known.get(folder)
    if (found === undefined) {
      const parent = path.dirname(folder)
      const name = readJsonObject(path.join(folder, 'package.json'))?.['name']
      found = typeof name === 'string' || parent === folder ? folder : this.#in(parent)
      this.#known.set(folder, found)
    }
    return found
  }
}

/** Files in groups that can be joined: each group is known by one of its package folders. */
class Groups {
  readonly #packageOf = new Map<string, string>()
  readonly #joinedTo = new Map<string, string>()

  add(file: string, folder: string): void {
    this.#packageOf.set(file, folder)
    if (!this.#joinedTo.has(folder)) this.#joinedTo.set(folder, folder)
  }

  get count(): number {
    return this.#joinedTo.size
  }

  join(a: string, b: string): void {
    this.#joinedTo.set(this.#groupOf(a), this.#groupOf(b))
  }

  all(): readonly Part[] {
    const groups = new Map<string, string[]>()
    for (const file of this.#packageOf.keys()) {
      const group = this.#groupOf(file)
      const known = groups.get(group)
      if (known === undefined) groups.set(group, [file])
      else known.push(file)
    }
    return [...groups.values()]
  }

  #groupOf(file: string): string {
    let at = this.#packageOf.get(file)!
    for (let next = this.#joinedTo.get(at)!; next !== at; next = this.#joinedTo.get(at)!) at = next
    return at
  }
}
