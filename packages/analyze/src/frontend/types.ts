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
  /** Of the type itself: `Map`, `Mutex`, `Promise`. */
  readonly typeName?: string
  readonly typeOrigin?: Origin
  /** Has a `then`: awaiting it waits. */
  readonly isThenable: boolean
  /** Calling it gives something thenable. */
  readonly returnsThenable: boolean
  /** What the name at the position means. For `a.b` ask at `b`. */
  readonly symbol?: SymbolFacts
}

export interface TypeSource {
  readonly kind: 'typescript-7' | 'typescript-6' | 'none'
  /** One answer per position, in order. Asking for many at once is what makes it fast. */
  factsAt(file: string, positions: readonly number[]): readonly (TypeFacts | undefined)[]
  /** Files whose text has changed since they were read. */
  update(changed: ReadonlyMap<string, string>): void
  close(): void
}
