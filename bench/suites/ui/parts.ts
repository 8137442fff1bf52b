/** The dashboard's own files, loaded by address: others cannot import them as a package. */
import type { ServerResponse } from 'node:http'

const ui = new URL('../../../packages/ui/', import.meta.url)

export interface Edges {
  readonly count: number
  readonly offsets: Int32Array
  readonly after: Int32Array
}

export interface LayoutModule {
  readonly layOut: (edges: Edges) => { readonly count: number }
}

export interface EdgesModule {
  readonly edgesOf: (dependencies: readonly (readonly number[])[]) => Edges
}

export interface StandInModule {
  readonly serveMade: (
    runs: readonly unknown[],
    options?: { readonly events?: (run: string, response: ServerResponse) => void },
  ) => Promise<AsyncDisposable & { readonly url: string }>
}

export interface MadeRunModule {
  readonly makeRun: (options: object) => {
    readonly nodes: { readonly name: readonly string[] }
    readonly head: { readonly position: number; readonly counts: object }
  }
}

/** The part of a page's interface that is used here. */
export interface BenchPage {
  goto(url: string): Promise<unknown>
  evaluate<T>(script: string): Promise<T>
  context(): { newCDPSession(page: BenchPage): Promise<DebugSession> }
  close(): Promise<void>
}

/** The part of the debugger protocol that is used here. */
export interface DebugSession {
  send(method: string): Promise<unknown>
}

export interface BrowserModule {
  readonly openBrowser: () => Promise<{ newPage(options: object): Promise<BenchPage> }>
}

/**
 * What the rows load: all of it has users in the tests of the dashboard too, so that none of it is reported as unused.
 */
export const uiFiles = [
  'src/graph/edges.ts',
  'src/graph/layout.ts',
  'test/browser/launch.ts',
  'test/stand-in/made-run.ts',
  'test/stand-in/stand-in.ts',
] as const

export type UiFile = (typeof uiFiles)[number]

export function addressOf(file: UiFile): URL {
  return new URL(file, ui)
}

export async function load<T>(file: UiFile): Promise<T> {
  return (await import(addressOf(file).href)) as T
}
