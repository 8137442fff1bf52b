/**
 * Which file an import means, for imports that the linker had no reason to follow: constants that
 * no code calls, modules that are only passed on.
 */
import path from 'node:path'
import type { Statement } from 'oxc-parser'
import type { FileUnit } from '../ir/program.ts'

const endings = ['', '.js', '.ts', '.mjs', '.cjs', '.mts', '.cts', '/index.js', '/index.ts']
const call = 'require('
const required = /\brequire\(\s*['"](\.[^'"]*)['"]\s*\)/y

export class ModuleFinder {
  readonly #files: ReadonlyMap<string, FileUnit>
  readonly #imports = new Map<FileUnit, ReadonlySet<FileUnit>>()

  constructor(files: readonly FileUnit[]) {
    this.#files = new Map(files.map((file) => [file.path, file]))
  }

  resolve(from: FileUnit, specifier: string): FileUnit | undefined {
    const known = from.imports.get(specifier)
    if (known !== undefined || !specifier.startsWith('.')) return known
    const target = path.posix.join(path.posix.dirname(from.path), specifier)
    for (const ending of endings) {
      const file = this.#files.get(target + ending)
      if (file !== undefined) return file
    }
    return this.#files.get(target.replace(/\.([cm]?)js$/, '.$1ts'))
  }

  /** Every file of the program that a file imports, requires or exports again. */
  importsOf(file: FileUnit): ReadonlySet<FileUnit> {
    let found = this.#imports.get(file)
    if (found === undefined) this.#imports.set(file, (found = this.#findImports(file)))
    return found
  }

  #findImports(file: FileUnit): ReadonlySet<FileUnit> {
    const specifiers = new Set<string>([...file.imports.keys(), ...requiredBy(file)])
    for (const statement of file.parsed.program.body) {
      const source = valueSource(statement)
      if (source !== undefined) specifiers.add(source)
    }
    const found = new Set<FileUnit>()
    for (const specifier of specifiers) {
      const imported = this.resolve(file, specifier)
      if (imported !== undefined && imported !== file) found.add(imported)
    }
    return found
  }

  /** Files whose names a file exports again. */
  passedOnBy(file: FileUnit): ReadonlySet<FileUnit> {
    const specifiers = [...file.exportAll]
    const locals = new Set<string>()
    for (const one of file.exports.values()) {
      if (one.kind === 'from') specifiers.push(one.source)
      if (one.kind === 'local') locals.add(one.name)
    }
    for (const statement of file.parsed.program.body) {
      if (statement.type !== 'ImportDeclaration') continue
      if (statement.specifiers.some(({ local }) => locals.has(local.name))) {
        specifiers.push(statement.source.value)
      }
    }
    // In CommonJS an index puts everything it requires into its exports.
    const isIndex = /(?:^|\/)(?:index|main)\.[cm]?js$/.test(file.path)
    if (isIndex && /\bexports\b/.test(file.parsed.text)) specifiers.push(...requiredBy(file))
    const found = new Set<FileUnit>()
    for (const specifier of specifiers) {
      const next = this.resolve(file, specifier)
      if (next !== undefined) found.add(next)
    }
    return found
  }
}

function requiredBy(file: FileUnit): readonly string[] {
  const { text } = file.parsed
  const found: string[] = []
  for (let at = text.indexOf(call); at >= 0; at = text.indexOf(call, at + call.length)) {
    required.lastIndex = at
    const specifier = required.exec(text)?.[1]
    if (specifier !== undefined) found.push(specifier)
  }
  return found
}

/** What an import or export at run time names. */
function valueSource(statement: Statement): string | undefined {
  switch (statement.type) {
    case 'ImportDeclaration':
      return statement.importKind === 'type' ? undefined : statement.source.value
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return statement.exportKind === 'type' ? undefined : statement.source?.value
    default:
      return undefined
  }
}
