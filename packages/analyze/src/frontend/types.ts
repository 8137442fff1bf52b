/**
 * What the compiler knows about an expression, asked by position.
 *
 * Positions are offsets in UTF-16 units, as oxc and TypeScript both count them, so that nothing
 * above the front end depends on a compiler's tree. Everything is optional: code may be broken, or
 * there may be no compiler at all.
 */

/** Who declares something: the program (a file of it), a package, Node, or the language. */
export type Origin =
  | { readonly kind: 'program'; readonly file: string }
  | { readonly kind: 'package'; readonly name: string }
  | { readonly kind: 'node'; readonly module: string }
  | { readonly kind: 'language' }

export interface SymbolFacts {
  /** `connect`, `#session`. */
  readonly name: string
  /** The class, interface or namespace that declares it: `Client`. */
  readonly container?: string
  readonly origin: Origin
}

export interface TypeFacts {
  /** Of the type itself: `Map`, `Mutex`, `Promise`. Without `| undefined` and `| null`. */
  readonly typeName?: string
  readonly typeOrigin?: Origin
  /** Has a `then`: awaiting it waits. Also when only one of several alternatives has. */
  readonly isThenable: boolean
  /** Calling it gives something thenable. */
  readonly returnsThenable: boolean
  /** `any`, or what could not be resolved: false above means only that nothing is known. */
  readonly isUnknown: boolean
  /** What the name at the position means. For `a.b` ask at `b`. */
  readonly symbol?: SymbolFacts
}

export interface TypeSource {
  /** May change to a lesser one while answers are asked for: compilers crash. */
  readonly kind: 'typescript-7' | 'typescript-6' | 'none'
  /**
   * One answer per position, in order. Asking for many at once is what makes it fast.
   * `file` is absolute. Never throws.
   */
  factsAt(file: string, positions: readonly number[]): readonly (TypeFacts | undefined)[]
  /** Files whose text has changed since they were read, by absolute path. */
  update(changed: ReadonlyMap<string, string>): void
  close(): void
}
