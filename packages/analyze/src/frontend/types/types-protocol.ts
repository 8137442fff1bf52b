/** The messages between the analysis and the thread with the compiler. */
import type { SymbolFacts, TypeSource } from '../types.ts'

/** Positions by file. */
export type Asked = ReadonlyMap<string, readonly number[]>

/** Answers by file, in the order of the positions. */
export type SymbolsByFile = ReadonlyMap<string, readonly (SymbolFacts | undefined)[]>

export interface TypesStart {
  readonly root: string
  readonly files: readonly string[]
  readonly overlays: ReadonlyMap<string, string>
  /** See `request-notes.ts`. */
  readonly requests: SharedArrayBuffer
}

export type ToTypes =
  | { readonly kind: 'ask'; readonly id: number; readonly asked: Asked }
  | ({ readonly kind: 'update' } & TypesUpdate)
  | { readonly kind: 'close' }

/** The effect of an edit on earlier answers. */
export interface TypesUpdate {
  /** Texts that have changed since they were read, by absolute path. */
  readonly changed: ReadonlyMap<string, string>
  /** Other files can see the change: no answer is certain any more. */
  readonly isShown: boolean
}

export type FromTypes =
  | {
      readonly kind: 'symbols'
      readonly id: number
      readonly symbols: SymbolsByFile
      readonly source: TypeSource['kind']
    }
  | { readonly kind: 'problem'; readonly problem: TypeProblem }

/** Types are fewer than they could be: why. */
export interface TypeProblem {
  readonly message: string
  /** The answer is not known: the result is less complete than it should be. */
  readonly isLost: boolean
}
