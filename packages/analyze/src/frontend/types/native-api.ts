/**
 * The part of TypeScript 7's own interface that we use, as we use it.
 *
 * Version 7.0 has it under `typescript/unstable/sync`, 7.1 under `typescript/sync` with snapshots
 * that are made from one another. Declared here and not imported: the compiler is whichever one the
 * analysed code has, and this is all that is asked of it.
 */

export interface NativeSymbol {
  readonly id: number
  readonly name: string
  readonly flags: number
  readonly declarations: readonly { readonly path: string }[]
  getParent(): NativeSymbol | undefined
}

export interface NativeChecker {
  getSymbolAtPosition(
    file: string,
    positions: readonly number[],
  ): readonly (NativeSymbol | undefined)[]
  getAliasedSymbol(symbol: NativeSymbol): NativeSymbol | undefined
}

export interface NativeProject {
  readonly configFileName: string
  readonly checker: NativeChecker
  readonly program: { getSourceFileNames(): readonly string[] }
}

export interface NativeSnapshot {
  getProjects(): readonly NativeProject[]
  /** Available since 7.1. */
  update?(params: object): NativeSnapshot
  dispose(): void
}

interface NativeApi {
  /** 7.0 */
  updateSnapshot(params: object): NativeSnapshot
  /** Available since 7.1. */
  createSnapshot?(params: object): NativeSnapshot
  close(): void
  /** The client; not public, used only to end a compiler, also one that hangs. */
  readonly client?: { readonly channel?: { readonly child?: CompilerProcess } }
}

interface CompilerProcess {
  readonly pid?: number
  ref?(): void
}

export interface NativeModule {
  readonly API: new (options: object) => NativeApi
  readonly SymbolFlags: Readonly<Record<string, number>>
}

export interface SnapshotChange {
  readonly openProjects?: readonly string[]
  readonly openFiles?: readonly string[]
  readonly changed?: readonly string[]
}

/** One compiler process. */
export class NativeSession {
  readonly #api: NativeApi
  #snapshot: NativeSnapshot | undefined

  /** @param overlays Text that is newer than the file on disk. */
  constructor(module: NativeModule, cwd: string, overlays: ReadonlyMap<string, string>) {
    const fs = {
      readFile: (file: string) => overlays.get(file),
      fileExists: (file: string) => overlays.has(file) || undefined,
    }
    this.#api = new module.API(overlays.size === 0 ? { cwd } : { cwd, fs })
  }

  /** Process id of the compiler, when it is known. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  get #child(): CompilerProcess | undefined {
    return this.#api.client?.channel?.child
  }

  /** Objects of earlier snapshots must no longer be used. */
  change({ changed, ...opened }: SnapshotChange): NativeSnapshot {
    const before = this.#snapshot
    const isNew = this.#api.createSnapshot !== undefined
    const params = {
      ...opened,
      ...(changed === undefined
        ? {}
        : { [isNew ? 'fileNotifications' : 'fileChanges']: { changed } }),
    }
    if (!isNew) this.#snapshot = this.#api.updateSnapshot(params)
    else this.#snapshot = before?.update?.(params) ?? this.#api.createSnapshot?.(params)
    before?.dispose()
    if (this.#snapshot === undefined) throw new TypeError('The compiler made no snapshot.')
    return this.#snapshot
  }

  /**
   * Asked to end, the compiler writes that it was cancelled to our error output, and one that hangs
   * would not end: it is killed. This thread stays until it has ended, or a defunct process would be left
   * for each.
   */
  close(): void {
    const child = this.#child
    quietly(() => child?.pid !== undefined && process.kill(child.pid, 'SIGKILL'))
    quietly(() => this.#snapshot?.dispose())
    quietly(() => this.#api.close())
    quietly(() => child?.ref?.())
  }
}

/** A session that has failed or has ended need not end well. */
function quietly(action: () => unknown): void {
  try {
    action()
  } catch {
    // See above.
  }
}
