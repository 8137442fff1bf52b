/**
 * What the compiler knows about a name, asked by position.
 *
 * Positions are offsets in UTF-16 units, as oxc and TypeScript both count them, so that nothing
 * above the front end depends on a compiler's tree. Everything is optional: code may be broken, or
 * there may be no compiler at all.
 */

/** Where something is declared: in the program (a file of it), in a package, in Node, or in the language. */
export type Origin =
  | { readonly kind: 'program'; readonly file: string }
  | { readonly kind: 'package'; readonly name: string }
  | { readonly kind: 'node'; readonly module: string }
  | { readonly kind: 'language' }

/** What a name means. */
export interface SymbolFacts {
  /** `connect`, `#session`. */
  readonly name: string
  /** The class, interface or namespace that declares it: `Client`. */
  readonly container?: string
  readonly origin: Origin
}

export interface TypeSource {
  /** May change to a lesser one while answers are asked for: compilers crash. */
  readonly kind: 'typescript-7' | 'typescript-6' | 'none'
  /**
   * What the names at positions mean; for `a.b` ask at `b`. One answer per position, in order.
   * Asking for many at once is what makes it fast. `file` is absolute. Never throws.
   */
  symbolsAt(file: string, positions: readonly number[]): readonly (SymbolFacts | undefined)[]
  /** Files whose text has changed since they were read, by absolute path. */
  update(changed: ReadonlyMap<string, string>): void
  close(): void
}
