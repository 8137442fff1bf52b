/**
 * The part of the compiler API of TypeScript 5 and 6 that we use. Declared here and not imported: the
 * compiler is whichever one the analysed code has.
 */

export interface ClassicNode {
  readonly kind: number
  readonly pos: number
  readonly end: number
  readonly parent?: ClassicNode
  readonly name?: { readonly text?: string }
  getStart(source?: ClassicSourceFile): number
  getSourceFile(): ClassicSourceFile
}

export interface ClassicSourceFile extends ClassicNode {
  readonly fileName: string
  readonly text: string
}

export interface ClassicSymbol {
  readonly name: string
  readonly flags: number
  readonly declarations?: readonly ClassicNode[]
  /** The parent; the field is not public, but exists. */
  readonly parent?: ClassicSymbol
}

export interface ClassicChecker {
  getSymbolAtLocation(node: ClassicNode): ClassicSymbol | undefined
  getAliasedSymbol(symbol: ClassicSymbol): ClassicSymbol
}

export interface ClassicProgram {
  getSourceFile(file: string): ClassicSourceFile | undefined
  getTypeChecker(): ClassicChecker
}

export interface ClassicHost {
  readFile(file: string): string | undefined
  fileExists(file: string): boolean
  getSourceFile(file: string, ...rest: readonly unknown[]): ClassicSourceFile | undefined
}

export interface ClassicModule {
  readonly SymbolFlags: Readonly<Record<string, number>>
  readonly sys: { readFile(file: string): string | undefined; fileExists(file: string): boolean }
  readConfigFile(
    file: string,
    read: (file: string) => string | undefined,
  ): { readonly config?: unknown; readonly error?: { readonly messageText: unknown } }
  parseJsonConfigFileContent(
    config: unknown,
    host: unknown,
    folder: string,
    existing?: object,
    file?: string,
  ): { readonly options: object; readonly fileNames: readonly string[] }
  createSourceFile(
    file: string,
    text: string,
    languageVersionOrOptions: unknown,
    setParentNodes: boolean,
  ): ClassicSourceFile
  createCompilerHost(options: object, setParentNodes?: boolean): ClassicHost
  createProgram(options: {
    readonly rootNames: readonly string[]
    readonly options: object
    readonly host: ClassicHost
    readonly oldProgram?: ClassicProgram | undefined
  }): ClassicProgram
  forEachChild<T>(node: ClassicNode, visit: (child: ClassicNode) => T | undefined): T | undefined
}
