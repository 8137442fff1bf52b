/** It has no types. This much of it is used. */
declare module '@npmcli/package-json' {
  export default class PackageJson {
    readonly content: Record<string, unknown>
    fromContent(content: Record<string, unknown>): this
    normalize(options: { readonly steps: readonly string[] }): Promise<this>
  }
}
