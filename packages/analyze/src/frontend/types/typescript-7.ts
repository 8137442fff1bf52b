/**
 * Types from TypeScript 7, whose checker runs in a process of its own.
 *
 * A file belongs to the project of the nearest tsconfig that includes it; files that none includes
 * are opened one by one, which gives them the project an editor would give them.
 *
 * I1. Throws when the compiler does not answer any more; then it must not be asked again.
 * I2. Every request is noted: another thread may end one that takes too long.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { SymbolFacts, TypeSource } from '../types.ts'
import { NativeSession } from './native-api.ts'
import type { NativeModule, NativeSnapshot, SnapshotChange } from './native-api.ts'
import { Flags, NativeSymbols } from './native-symbols.ts'
import { NearestTsconfig } from './nearest-tsconfig.ts'
import { reasonOf } from './reason.ts'
import type { RequestNotes } from './request-notes.ts'

export interface NativeOptions {
  readonly root: string
  readonly files: readonly string[]
  readonly overlays: ReadonlyMap<string, string>
  /** Something less than asked: a project that cannot be opened. */
  readonly onProblem: (message: string) => void
  readonly requests: RequestNotes
}

export class TypeScript7 implements TypeSource {
  readonly kind = 'typescript-7'
  readonly #module: NativeModule
  readonly #options: NativeOptions
  readonly #flags: Flags
  readonly #overlays: Map<string, string>
  readonly #spelling: ReadonlyMap<string, string>
  #session: NativeSession
  #symbols: ReadonlyMap<string, NativeSymbols> = new Map()

  constructor(module: NativeModule, options: NativeOptions) {
    this.#module = module
    this.#options = options
    this.#flags = new Flags(module)
    this.#overlays = new Map(options.overlays)
    this.#spelling = new Map(options.files.map((file) => [file.toLowerCase(), file]))
    this.#session = this.#start()
  }

  symbolsAt(file: string, positions: readonly number[]): readonly (SymbolFacts | undefined)[] {
    const symbols = this.#symbols.get(file)
    if (symbols === undefined || positions.length === 0) return positions.map(() => undefined)
    return this.#noted(() => symbols.symbolsAt(file, positions))
  }

  update(changed: ReadonlyMap<string, string>): void {
    const isOnDisk = [...changed].every(
      ([file, text]) => this.#overlays.get(file) === text || isTextOf(file, text),
    )
    for (const [file, text] of changed) {
      if (!isOnDisk || this.#overlays.has(file)) this.#overlays.set(file, text)
    }
    if (isOnDisk) {
      const files = [...changed.keys()]
      this.#noted(() => this.#assign(this.#session.change({ changed: files })))
    } else {
      this.close()
      this.#session = this.#start()
    }
  }

  close(): void {
    this.#session.close()
  }

  #start(): NativeSession {
    const session = new NativeSession(this.#module, this.#options.root, this.#overlays)
    this.#session = session
    try {
      this.#noted(() => this.#open(session))
    } catch (error) {
      session.close()
      throw error
    }
    return session
  }

  #open(session: NativeSession): void {
    const { files } = this.#options
    const nearest = new NearestTsconfig()
    const configs = [...new Set(files.flatMap((file) => nearest.of(file) ?? []))]
    this.#openProjects(session, configs)
    const alone = files.filter((file) => !this.#symbols.has(file))
    if (alone.length > 0) {
      const what = `${alone.length} files without a tsconfig`
      this.#tryOpen(session, what, { openFiles: alone })
    }
  }

  /** All at once; where one of them is broken, one by one, so that it costs its own types only. */
  #openProjects(session: NativeSession, configs: readonly string[]): void {
    try {
      this.#assign(session.change({ openProjects: configs }))
    } catch {
      for (const config of configs) this.#tryOpen(session, config, { openProjects: [config] })
    }
  }

  /** One more request distinguishes a project that cannot be opened from a compiler that has ended. */
  #tryOpen(session: NativeSession, what: string, change: SnapshotChange): void {
    try {
      this.#assign(session.change(change))
    } catch (error) {
      session.change({})
      this.#options.onProblem(`The compiler cannot open ${what}: ${reasonOf(error)}`)
    }
  }

  /** Gives every file the symbols of the project that is nearest to it. */
  #assign(snapshot: NativeSnapshot): void {
    const wanted = new Set(this.#options.files)
    const nearest = new Map<string, number>()
    const assigned = new Map<string, NativeSymbols>()
    for (const project of snapshot.getProjects()) {
      const symbols = new NativeSymbols(project.checker, this.#flags, this.#spelling)
      const folder = path.dirname(project.configFileName) + path.sep
      for (const name of project.program.getSourceFileNames()) {
        const file = wanted.has(name) ? name : this.#spelling.get(name.toLowerCase())
        if (file === undefined) continue
        const nearness = file.startsWith(folder) ? folder.length : 0
        if (nearness < (nearest.get(file) ?? -1)) continue
        nearest.set(file, nearness)
        assigned.set(file, symbols)
      }
    }
    this.#symbols = assigned
  }

  #noted<T>(request: () => T): T {
    return this.#options.requests.during(this.#session.pid, request)
  }
}

function isTextOf(file: string, text: string): boolean {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '') === text
  } catch {
    return false
  }
}
