/** ssri has no types. This much of it is used. */
declare module 'ssri' {
  export interface Hash {
    readonly digest: string
    hexDigest(): string
  }

  /** Hashes by algorithm, their options apart. Null when there is none. */
  export function parse(integrity: string): Readonly<Record<string, readonly Hash[]>> | null
}
