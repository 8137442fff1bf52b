/** What the analysis and the thread with the compiler say to each other. */
import type { TypeFacts, TypeSource } from '../types.ts'

/** Positions by file. */
export type Asked = ReadonlyMap<string, readonly number[]>

/** Answers by file, in the order of the positions. */
export type FactsByFile = ReadonlyMap<string, readonly (TypeFacts | undefined)[]>

export interface TypesStart {
  readonly root: string
  readonly files: readonly string[]
  readonly overlays: ReadonlyMap<string, string>
  readonly requestLimit: number
}

export type ToTypes =
  | { readonly kind: 'ask'; readonly id: number; readonly asked: Asked }
  | { readonly kind: 'update'; readonly changed: ReadonlyMap<string, string> }
  | { readonly kind: 'close' }

export type FromTypes =
  | {
      readonly kind: 'facts'
      readonly id: number
      readonly facts: FactsByFile
      readonly source: TypeSource['kind']
    }
  | { readonly kind: 'problem'; readonly problem: TypeProblem }

/** Types are fewer than they could be: why. */
export interface TypeProblem {
  readonly message: string
  /** What was asked for is not known: the result is less than it should be. */
  readonly isLost: boolean
}
