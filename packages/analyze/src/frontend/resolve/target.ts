/** What an import or a require means. */
export type ImportTarget =
  /** A source file, by its absolute path. It need not belong to the program. */
  | { readonly kind: 'file'; readonly file: string }
  /**
   * A file of another package: `name` without the path inside, which is in `subpath` (`.`,
   * `./promises`).
   */
  | { readonly kind: 'package'; readonly name: string; readonly subpath: string }
  /** The name without `node:`, such as `fs/promises`. */
  | { readonly kind: 'node'; readonly module: string }
  /** A path to nothing, or to something that is not code. */
  | { readonly kind: 'unresolved' }

export type ImportMode = 'import' | 'require'
