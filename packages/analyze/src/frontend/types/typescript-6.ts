/**
 * Types from TypeScript 5 and 6, in this process.
 *
 * Slower than version 7 and in our memory; it is for code that has not moved on yet. A program per
 * tsconfig is made when one of its files is first asked about.
 */
import path from 'node:path'
import type { SymbolFacts, TypeSource } from '../types.ts'
import type {
  ClassicHost,
  ClassicModule,
  ClassicProgram,
  ClassicSourceFile,
} from './classic-api.ts'
import { ClassicSymbols } from './classic-symbols.ts'
import { NearestTsconfig } from './nearest-tsconfig.ts'
import { reasonOf } from './reason.ts'

export interface ClassicOptions {
  readonly overlays: ReadonlyMap<string, string>
  /** Something less than asked: a tsconfig that cannot be read. */
  readonly onProblem: (message: string) => void
  readonly files: readonly string[]
}

interface Project {
  readonly files: readonly string[]
  readonly options: object
  program?: ClassicProgram
  symbols?: ClassicSymbols | undefined
}

const defaults = { allowJs: true, noEmit: true, skipLibCheck: true, target: 99, module: 199 }

export class TypeScript6 implements TypeSource {
  readonly kind = 'typescript-6'
  readonly #module: ClassicModule
  readonly #options: ClassicOptions
  readonly #overlays: Map<string, string>
  readonly #nearest = new NearestTsconfig()
  readonly #projects = new Map<string, Project>()
  readonly #sources = new Map<string, ClassicSourceFile>()

  constructor(module: ClassicModule, options: ClassicOptions) {
    this.#module = module
    this.#options = options
    this.#overlays = new Map(options.overlays)
  }

  symbolsAt(file: string, positions: readonly number[]): readonly (SymbolFacts | undefined)[] {
    if (positions.length === 0) return []
    const project = this.#projectOf(file)
    project.symbols ??= new ClassicSymbols(this.#module, this.#programOf(project))
    return project.symbols.symbolsAt(file, positions)
  }

  update(changed: ReadonlyMap<string, string>): void {
    for (const [file, text] of changed) {
      this.#overlays.set(file, text)
      this.#sources.delete(file)
    }
    for (const project of this.#projects.values()) project.symbols = undefined
  }

  close(): void {
    this.#projects.clear()
    this.#sources.clear()
  }

  #projectOf(file: string): Project {
    const config = this.#nearest.of(file) ?? ''
    let project = this.#projects.get(config)
    if (project === undefined) {
      project = this.#openProject(config)
      this.#projects.set(config, project)
    }
    return project
  }

  /** Files that belong to us and to no other tsconfig are added: they are asked about, too. */
  #openProject(config: string): Project {
    const own = this.#options.files.filter((file) => (this.#nearest.of(file) ?? '') === config)
    if (config === '') return { files: own, options: defaults }
    const { sys } = this.#module
    const read = this.#module.readConfigFile(config, (file) => sys.readFile(file))
    if (read.config === undefined || read.error !== undefined) {
      this.#options.onProblem(`${config} cannot be read: ${reasonOf(read.error?.messageText)}`)
      if (read.config === undefined) return { files: own, options: defaults }
    }
    const folder = path.dirname(config)
    const parsed = this.#module.parseJsonConfigFileContent(read.config, sys, folder, {}, config)
    const files = [...new Set([...parsed.fileNames, ...own])]
    return { files, options: { ...parsed.options, noEmit: true, skipLibCheck: true } }
  }

  #programOf(project: Project): ClassicProgram {
    const { options, files } = project
    const inner = this.#module.createCompilerHost(options, true)
    const host: ClassicHost = {
      ...inner,
      readFile: (file) => this.#overlays.get(file) ?? inner.readFile(file),
      fileExists: (file) => this.#overlays.has(file) || inner.fileExists(file),
      getSourceFile: (file, ...rest) => {
        const overlay = this.#overlays.get(file)
        const source =
          this.#sources.get(file) ??
          (overlay === undefined
            ? inner.getSourceFile(file, ...rest)
            : this.#module.createSourceFile(file, overlay, rest[0], true))
        if (source !== undefined) this.#sources.set(file, source)
        return source
      },
    }
    const oldProgram = project.program
    project.program = this.#module.createProgram({ rootNames: files, options, host, oldProgram })
    return project.program
  }
}
