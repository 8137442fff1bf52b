/** As much of the peers as is used: they are installed when the suite is first run, not with the repository. */

declare module 'eslint' {
  export class ESLint {
    constructor(options: object)
    lintFiles(files: readonly string[]): Promise<readonly { readonly errorCount: number }[]>
  }
}

declare module '@typescript-eslint/parser'

declare module '@typescript-eslint/eslint-plugin' {
  const plugin: object
  export default plugin
}
