/** The dashboard's own files, loaded by address: they are no package that others import. */
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

/** As much of a page as is used here. */
export interface BenchPage {
  goto(url: string): Promise<unknown>
  evaluate<T>(script: string): Promise<T>
  context(): { newCDPSession(page: BenchPage): Promise<DebugSession> }
  close(): Promise<void>
}

/** As much of the protocol of its debugger. */
export interface DebugSession {
  send(method: string): Promise<unknown>
}

export interface BrowserModule {
  readonly openBrowser: () => Promise<{ newPage(options: object): Promise<BenchPage> }>
}

export async function load<T>(file: string): Promise<T> {
  return (await import(new URL(file, ui).href)) as T
}
