/**
 * The best compiler that works.
 *
 *   TypeScript 7 or 6 of the analysed code ─▶ ours ─▶ none
 *
 * When one cannot be started, crashes or does not answer, that is reported once and the next one takes
 * over, for the rest of the questions. Answers that were given stay valid: they are facts about the
 * same text.
 */
import type { SymbolFacts, TypeSource } from './types.ts'
import type { ClassicModule } from './types/classic-api.ts'
import { findCompilers } from './types/find-compiler.ts'
import type { FoundCompiler } from './types/find-compiler.ts'
import type { NativeModule } from './types/native-api.ts'
import { noTypes } from './types/none.ts'
import { reasonOf } from './types/reason.ts'
import { bytesOfNotes, RequestNotes } from './types/request-notes.ts'
import type { TypeProblem } from './types/types-protocol.ts'
import { TypeScript6 } from './types/typescript-6.ts'
import { TypeScript7 } from './types/typescript-7.ts'

export interface TypesOptions {
  /** Absolute: where the analysed code's own compiler is looked for. */
  readonly root: string
  /** Absolute paths of the files that will be asked about. */
  readonly files: readonly string[]
  /** Text that is newer than the file on disk, by absolute path. */
  readonly overlays?: ReadonlyMap<string, string>
  /** Types are lost, or fewer than asked for: why. */
  readonly onProblem: (problem: TypeProblem) => void
  /** Where requests to a compiler in another process are noted, for who ends those that hang. */
  readonly requests?: SharedArrayBuffer
  /** Compilers to try, best first. Default: those that are installed. */
  readonly compilers?: readonly FoundCompiler[]
}

/** Opens the compiler that is installed with the analysed code, or ours, or none. Never throws. */
export function openTypes(options: TypesOptions): TypeSource {
  return new FallingTypes(options)
}

class FallingTypes implements TypeSource {
  readonly #options: TypesOptions
  readonly #compilers: FoundCompiler[]
  readonly #changed = new Map<string, string>()
  readonly #requests: RequestNotes
  #source: TypeSource = noTypes

  constructor(options: TypesOptions) {
    this.#options = options
    this.#requests = new RequestNotes(options.requests ?? new SharedArrayBuffer(bytesOfNotes))
    this.#compilers = [...(options.compilers ?? findCompilers(options.root))]
    if (this.#compilers.length === 0) {
      options.onProblem({ message: 'No compiler is installed: types are not used.', isLost: false })
    }
    this.#next()
  }

  get kind(): TypeSource['kind'] {
    return this.#source.kind
  }

  symbolsAt(file: string, positions: readonly number[]): readonly (SymbolFacts | undefined)[] {
    for (;;) {
      try {
        return this.#source.symbolsAt(file, positions)
      } catch (error) {
        this.#giveUp(error)
      }
    }
  }

  update(changed: ReadonlyMap<string, string>): void {
    for (const [file, text] of changed) this.#changed.set(file, text)
    try {
      this.#source.update(changed)
    } catch (error) {
      this.#giveUp(error)
    }
  }

  close(): void {
    this.#source.close()
    this.#source = noTypes
  }

  #giveUp(error: unknown): void {
    const failed = this.#source
    failed.close()
    this.#next()
    if (this.#requests.isOver) return
    this.#tell(`The compiler (${failed.kind}) failed: ${reasonOf(error)}`)
  }

  /** The next compiler that starts; in the end `noTypes`, which never fails. */
  #next(): void {
    this.#source = noTypes
    const failures: string[] = []
    while (this.#source === noTypes && !this.#requests.isOver) {
      const found = this.#compilers.shift()
      if (found === undefined) break
      try {
        this.#source = this.#open(found)
      } catch (error) {
        const { version, folder } = found
        failures.push(`TypeScript ${version} in ${folder} cannot be used: ${reasonOf(error)}`)
      }
    }
    for (const message of failures) this.#tell(message)
  }

  /** While another compiler answers, nothing is lost. */
  #tell(message: string): void {
    this.#options.onProblem({ message, isLost: this.#source === noTypes })
  }

  #open(compiler: FoundCompiler): TypeSource {
    const { root, files } = this.#options
    const onProblem = (message: string): void => this.#options.onProblem({ message, isLost: true })
    const overlays = new Map([...(this.#options.overlays ?? []), ...this.#changed])
    const module = compiler.load()
    const requests = this.#requests
    return compiler.kind === 'typescript-7'
      ? new TypeScript7(module as NativeModule, { root, files, overlays, onProblem, requests })
      : new TypeScript6(module as ClassicModule, { files, overlays, onProblem })
  }
}
