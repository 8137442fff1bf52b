/**
 * The parts of the peers' types that are used: peers are installed when the suite first runs, not
 * with the repository.
 */

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
