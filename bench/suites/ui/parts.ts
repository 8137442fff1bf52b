/** The dashboard's own files, loaded by address: they are no package that others import. */

const ui = new URL('../../../packages/ui/', import.meta.url)

export interface Edges {
  readonly count: number
  readonly offsets: Int32Array
  readonly after: Int32Array
}

export interface LayoutModule {
  layOut(edges: Edges, before?: unknown): { readonly count: number }
}

export interface EdgesModule {
  edgesOf(dependencies: readonly (readonly number[])[]): Edges
}

export interface StandInModule {
  serveMade(runs: readonly unknown[]): Promise<AsyncDisposable & { readonly url: string }>
}

export interface MadeRunModule {
  makeRun(options: object): unknown
}

/** As much of a page as is used here. */
export interface BenchPage {
  goto(url: string): Promise<unknown>
  waitForFunction(script: string): Promise<unknown>
  evaluate<T>(script: string): Promise<T>
  mouse: {
    move(x: number, y: number): Promise<void>
    down(): Promise<void>
    up(): Promise<void>
  }
  keyboard: { press(key: string): Promise<void> }
}

export interface BrowserModule {
  openBrowser(): Promise<{
    newPage(options: object): Promise<BenchPage>
    close(): Promise<void>
  }>
}

export async function load<T>(file: string): Promise<T> {
  return (await import(new URL(file, ui).href)) as T
}
