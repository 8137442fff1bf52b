/** npm-packlist has no types. It reads this much of the tree that it is given. */
declare module 'npm-packlist' {
  export interface PackNode {
    readonly path: string
    readonly package: Readonly<Record<string, unknown>>
    readonly isProjectRoot: boolean
    readonly isLink: boolean
    readonly target: PackNode
    readonly edgesOut: ReadonlyMap<
      string,
      { readonly peer: boolean; readonly dev: boolean; readonly to: PackNode | undefined }
    >
  }

  export default function packlist(
    tree: PackNode,
    options: {
      readonly path: string
      readonly prefix?: string
      readonly workspaces?: readonly string[]
    },
  ): Promise<string[]>
}
