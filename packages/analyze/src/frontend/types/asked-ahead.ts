/**
 * Asks the compiler before the analysis does.
 *
 * The compiler has loaded a program while the analysis still lowers it, and what costs time is its first
 * look at a function. So it is asked early, a file at a time: about what was asked before an edit, and
 * where nothing was, about what looks like the call of a method.
 *
 * I1. Answers are about the texts that the compiler has: an update forgets those it makes doubtful.
 * I2. A wrong guess costs time only. Everything else is asked when it is needed.
 */
import { readFileSync, statSync } from 'node:fs'
import { isMinified } from '../minified.ts'
import type { SymbolFacts, TypeSource } from '../types.ts'
import { likelyCalls } from './likely-calls.ts'
import type { TypesUpdate } from './types-protocol.ts'

type Known = ReadonlyMap<number, SymbolFacts | undefined>

/** Files that are larger are not written by people. */
const largestGuess = 1_000_000

export class AskedAhead {
  readonly #types: TypeSource
  readonly #overlays: Map<string, string>
  readonly #known = new Map<string, Known>()
  /** The last questions about the current text. */
  readonly #asked = new Map<string, readonly number[]>()
  #rest: string[]

  constructor(types: TypeSource, files: readonly string[], overlays: ReadonlyMap<string, string>) {
    this.#types = types
    this.#overlays = new Map(overlays)
    // The last is taken first.
    this.#rest = files.toReversed()
  }

  /** Asks about one more file; false when there is none. */
  askOne(): boolean {
    const file = this.#rest.pop()
    if (file === undefined) return false
    if (!this.#known.has(file)) this.#ask(file, this.#asked.get(file) ?? this.#guess(file))
    return true
  }

  symbolsAt(file: string, positions: readonly number[]): readonly (SymbolFacts | undefined)[] {
    this.#asked.set(file, positions)
    const known = this.#known.get(file) ?? new Map<number, undefined>()
    const fresh = positions.filter((position) => !known.has(position))
    const all = fresh.length === 0 ? known : new Map([...known, ...this.#ask(file, fresh)])
    this.#known.set(file, all)
    return positions.map((position) => all.get(position))
  }

  forget({ changed, isShown }: TypesUpdate): void {
    if (isShown) this.#known.clear()
    for (const [file, text] of changed) {
      this.#overlays.set(file, text)
      this.#known.delete(file)
      this.#asked.delete(file)
    }
    this.#rest = [...new Set([...changed.keys(), ...(isShown ? this.#asked.keys() : [])])]
  }

  stop(): void {
    this.#rest = []
  }

  #ask(file: string, positions: readonly number[]): Known {
    const symbols = this.#types.symbolsAt(file, positions)
    const known = new Map(positions.map((position, index) => [position, symbols[index]]))
    this.#known.set(file, known)
    return known
  }

  #guess(file: string): readonly number[] {
    const text = this.#overlays.get(file) ?? readText(file)
    // Files that the analysis leaves out are not worth a guess, and may take the compiler seconds.
    return text.length > largestGuess || isMinified(text) ? [] : likelyCalls(text)
  }
}

function readText(file: string): string {
  try {
    if (statSync(file).size > largestGuess) return ''
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
  } catch {
    return ''
  }
}
